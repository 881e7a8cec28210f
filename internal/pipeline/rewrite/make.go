package rewrite

import (
	"context"
	"fmt"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/progress"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// Content describes a file for [Rewriter.MakeAll].
type Content struct {
	Family, Name string
	Region       int    // its number, for the events
	What         string // for errors: "markers for region 1588230740"
	Size         int64  // see [Rewriter.Make], as for Fill
	Fill         func(ctx context.Context, add func(*hfile.Cell) error) error
}

// MarkerBytes is the approximate size of a delete marker in a file, without its row.
const MarkerBytes = 24

// MakeAll writes files, at most atOnce at a time, and reports each to events. The result is in the order of all.
func (w *Rewriter) MakeAll(ctx context.Context, prefix string, all []Content, atOnce int, e progress.Events) ([]loader.HFile, error) {
	files := make([]loader.HFile, len(all))
	err := workers.Each(ctx, atOnce, len(all), func(ctx context.Context, i int) error {
		n := all[i]
		f, err := w.Make(ctx, prefix, n.Family, n.Name, n.Size, n.Fill)
		if err != nil {
			return fmt.Errorf("write %s: %w", n.What, err)
		}
		files[i] = f
		e.Hfile(progress.HFile{Name: f.Path, Region: n.Region, Rows: f.Cells, Bytes: f.Size})
		return nil
	})
	return files, err
}

// Make writes a file of the cells that fill adds in order, with the settings of
// the family. fill is called again, for all cells, after a write that HDFS
// could not continue. name is the file's name, 32 hexadecimal digits; prefix
// precedes its path, see [SplitURI]; size is an estimate, or an upper bound, of
// the file's size. After an error the file is removed.
func (w *Rewriter) Make(ctx context.Context, prefix, family, name string, size int64, fill func(ctx context.Context, add func(*hfile.Cell) error) error) (loader.HFile, error) {
	var made []loader.HFile
	err := w.attempts(ctx, family, func(a *rewriting) error {
		r, err := a.create(ctx, family, name, w.options(family, hfile.Meta{}), size, nil)
		if err != nil {
			return err
		}
		if err := fill(ctx, r.writer.Append); err != nil {
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
