package mapreduce

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"

	"bulkload/internal/base/durable"
	"bulkload/pkg/hdfsio"
)

// keepRejects copies a map's bad records, or the records that the filter leaves out, next to its description.
func (t *task) keepRejects(ctx context.Context, local, name string) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	return hdfsio.WriteFile(ctx, t.fs, name, f, hdfsio.CreateOptions{Perm: 0o600})
}

// joinRejects joins the files of all maps into one local file, in the order of the input. It reports whether there are any.
func joinRejects(ctx context.Context, fsys hdfsio.FS, dir string, maps []*MapDone, of func(*MapDone) string, local string) (some bool, err error) {
	if some = slices.ContainsFunc(maps, func(m *MapDone) bool { return of(m) != "" }); !some || local == "" {
		return some, nil
	}
	return some, writeRejects(ctx, fsys, dir, maps, of, local)
}

func writeRejects(ctx context.Context, fsys hdfsio.FS, dir string, maps []*MapDone, of func(*MapDone) string, local string) error {
	return durable.ReplaceBy(local, func(w *os.File) (err error) {
		for _, m := range maps {
			if name := of(m); name != "" {
				err = errors.Join(err, appendFile(ctx, fsys, path.Join(dir, mapsName, path.Base(name)), w))
			}
		}
		return err
	})
}

func appendFile(ctx context.Context, fsys hdfsio.FS, name string, w io.Writer) (err error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(w, f)
	return err
}
