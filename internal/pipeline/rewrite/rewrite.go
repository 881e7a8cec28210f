package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/workers"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// Rewriter splits HFiles that straddle regions and merges the files of a region
// if there are too many. Its files get the settings of the table's family.
// Their names are derived from the names of the original files, so a repeated
// rewriting, for example after a crash, replaces the files of the previous one.
// The original files stay. A Rewriter is safe for concurrent use.
type Rewriter struct {
	Output    build.Output
	family    func(name string) spec.Family
	timestamp int64
	owned     func(ctx context.Context) error
	Gate      progress.Gate // passed before each file
	Near      cells.Near    // the hosts on which files are to be written

	mu   sync.Mutex
	busy int // running rewritings
}

var _ loader.Rewriter = (*Rewriter)(nil)

// New returns a Rewriter that writes into dir/FAMILY/, by way of dir/_writing/.
// The timestamp, in milliseconds, replaces the clock in the new files. owned returns an error if another process has taken over the job: files of a
// failed attempt are then left to that process, which gives its files the same names.
func New(fsys hdfsio.FS, dir string, family func(name string) spec.Family, timestamp int64, owned func(ctx context.Context) error) *Rewriter {
	return &Rewriter{owned: owned, Output: build.Output{FS: fsys, Dir: dir, Made: true, FileMode: 0o666, DirMode: 0o777}, family: family, timestamp: timestamp}
}

// Cut reads a file once and writes the rows between the boundaries into
// separate files, in order. A boundary is the first row after it; a side
// without rows gets no file. After an error the new files are removed.
func (w *Rewriter) Cut(ctx context.Context, f loader.HFile, at [][]byte) ([]loader.HFile, error) {
	at = slices.Clone(at)
	slices.SortFunc(at, bytes.Compare)
	at = slices.CompactFunc(at, bytes.Equal)
	var children []loader.HFile
	err := w.attempts(ctx, f.Family, func(a *rewriting) (err error) {
		children, err = a.cut(ctx, f, at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cut %s at %d rows: %w", f.Path, len(at), err)
	}
	return children, nil
}

func (a *rewriting) cut(ctx context.Context, f loader.HFile, at [][]byte) ([]loader.HFile, error) {
	prefix, name := SplitURI(f.Path)
	in, err := openForward(ctx, a.rewriter.Output.FS, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	meta := in.reader.Meta()
	if f.Cells > 0 && meta.Cells != f.Cells {
		return nil, fmt.Errorf("it has %d cells, not %d: it was changed", meta.Cells, f.Cells)
	}
	options := a.rewriter.options(f.Family, meta)
	var child *rewritten
	start := []byte(nil)
	scan := in.reader.Scan()
	for n := 0; scan.Next(); n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		cell := scan.Cell()
		if next := passed(at, cell.Row); next > 0 {
			start, at = at[next-1], at[next:]
			if err := a.finish(ctx, child); err != nil {
				return nil, err
			}
			child = nil
		}
		if child == nil {
			if child, err = a.create(ctx, f.Family, childName(path.Base(name), start), options, meta.Bytes, cell.Row); err != nil {
				return nil, err
			}
		}
		if err := child.writer.Append(cell); err != nil {
			return nil, err
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if err := a.finish(ctx, child); err != nil {
		return nil, err
	}
	if len(a.files) == 0 {
		return nil, errors.New("it has no cells")
	}
	return a.publish(ctx, prefix)
}

// passed returns how many boundaries are not after the row. Usually it is none,
// so the first is compared before the rest.
func passed(at [][]byte, row []byte) int {
	if len(at) == 0 || bytes.Compare(at[0], row) > 0 {
		return 0
	}
	n, found := slices.BinarySearchFunc(at, row, bytes.Compare)
	if found {
		n++
	}
	return n
}

// childName returns the name of the part of a file that begins at a boundary,
// nil for the first part.
func childName(parent string, start []byte) string {
	return hfile.Name("part %q %q", parent, start)
}

// SplitURI splits a path into its scheme and authority, if it has them, and the name.
func SplitURI(uri string) (prefix, name string) {
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		if at := strings.IndexByte(rest, '/'); at >= 0 {
			return scheme + "://" + rest[:at], rest[at:]
		}
	}
	return "", uri
}

// rewriteAttempts is the number of attempts at a rewriting after writes that
// HDFS could not continue: a lost DataNode may be offered for some minutes.
const rewriteAttempts = 6

// attempts runs one rewriting, and starts it over if the file system requires
// that.
func (w *Rewriter) attempts(ctx context.Context, family string, do func(*rewriting) error) error {
	if err := w.Output.Uploads.Enter(ctx); err != nil {
		return err
	}
	defer w.Output.Uploads.Leave()
	if err := progress.Pass(ctx, w.Gate); err != nil {
		return err
	}
	if err := build.CheckFamily(family); err != nil {
		return err
	}
	defer w.leave(ctx)
	if err := w.enter(ctx, family); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		a := &rewriting{rewriter: w, attempt: attempt}
		err := do(a)
		a.clean(ctx, err != nil)
		if err == nil || !errors.Is(err, hdfsio.ErrRewrite) || attempt == rewriteAttempts {
			return err
		}
		select {
		case <-time.After((250 * time.Millisecond) << attempt):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// enter creates the directories. A family's directory usually exists, and may
// belong to another user, who built the files.
func (w *Rewriter) enter(ctx context.Context, family string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy++
	dirs := []string{build.WritingDir}
	if missing, err := w.lacks(ctx, family); err != nil {
		return err
	} else if missing {
		dirs = append(dirs, family)
	}
	for _, d := range dirs {
		if err := w.Output.Mkdir(ctx, d); err != nil {
			return err
		}
	}
	missing, err := w.lacks(ctx, w.Output.WritingOf(family)) // it has the family's storage policy
	if err != nil || !missing {
		return err
	}
	return w.Output.SetPolicy(ctx, family)
}

// lacks reports whether a directory of the output does not exist.
func (w *Rewriter) lacks(ctx context.Context, dir string) (bool, error) {
	_, err := w.Output.FS.Stat(ctx, path.Join(w.Output.Dir, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// leave removes the directory of incomplete files, whose existence indicates an
// unfinished build.
func (w *Rewriter) leave(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy--; w.busy == 0 {
		_ = w.Output.FS.Remove(ctx, path.Join(w.Output.Dir, build.WritingDir)) // fails if anything is in it
	}
}

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
