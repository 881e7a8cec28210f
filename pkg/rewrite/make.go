package rewrite

import (
	"context"
	"fmt"

	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// Make writes a file of the cells that fill adds in their order, with the
// settings of the family. fill is called again, for all of them, after a write
// that HDFS could not continue with. name is the file's, 32 hexadecimal digits;
// prefix stands before its path, see [SplitURI]; size is about that of the file
// to come, or more. After an error nothing of it is left.
func (w *Rewriter) Make(ctx context.Context, prefix, family, name string, size int64, fill func(ctx context.Context, add func(*hfile.Cell) error) error) (loader.HFile, error) {
	var made []loader.HFile
	err := w.attempts(ctx, family, func(a *rewriting) error {
		r, err := a.create(ctx, family, name, w.options(family, hfile.Meta{}), size)
		if err != nil {
			return err
		}
		if err := fill(ctx, r.hw.Append); err != nil {
			return err
		}
		if err := a.finish(ctx, r); err != nil {
			return err
		}
		made, err = a.publish(ctx, prefix)
		return err
	})
	if err != nil {
		return loader.HFile{}, fmt.Errorf("write %s: %w", name, err)
	}
	return made[0], nil
}
