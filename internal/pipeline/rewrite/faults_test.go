package rewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestRewriteFaults makes each operation of a cut and of a merge fail, before or
// after it takes effect: either all files exist and are correct, or there are none.
func TestRewriteFaults(t *testing.T) {
	cells := jobtest.SomeCells(3000)
	broken := errors.New("broken by the test")
	for _, merge := range []bool{false, true} {
		for _, op := range []testfs.Op{testfs.OpCreate, testfs.OpWrite, testfs.OpFinish, testfs.OpOpen, testfs.OpReadAt, testfs.OpStat, testfs.OpRename, testfs.OpMkdirAll} {
			for nth := range 3 {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("merge=%t/%s/%d/after=%t", merge, op, nth, after), func(t *testing.T) {
						t.Parallel()
						memory := hdfsio.NewMemory()
						parents := []loader.HFile{
							jobtest.WriteCells(t, memory, "/job/f/"+strings.Repeat("a", 32), cells[:6000], hfile.Options{}),
							jobtest.WriteCells(t, memory, "/job/f/"+strings.Repeat("b", 32), cells[6000:], hfile.Options{}),
						}
						left, hit := nth, false
						fsys := &testfs.Faulty{FS: memory, Inject: func(o testfs.Op, _ string, _ int64) *testfs.Fault {
							if o != op || hit {
								return nil
							}
							if left > 0 {
								left--
								return nil
							}
							hit = true
							return &testfs.Fault{Err: broken, After: after}
						}}
						w := New(fsys, "/job", spec.DefaultFamily, 9, owned)
						var got []loader.HFile
						var err error
						want := cells
						if merge {
							var f loader.HFile
							f, err = w.Merge(t.Context(), parents)
							got = append(got, f)
						} else {
							want = cells[:6000]
							got, err = w.Cut(t.Context(), parents[0], [][]byte{[]byte("000500"), []byte("001000")})
						}
						if err != nil {
							if !errors.Is(err, broken) {
								t.Fatal(err)
							}
							if files := jobtest.TreeFiles(t, memory, "/job"); len(files) != 2 {
								t.Errorf("left after %v: %q", err, files)
							}
							return
						}
						var lines []string
						for _, f := range got {
							lines = append(lines, readCells(t, memory, f)...)
						}
						if !slices.Equal(lines, cellLines(want)) {
							t.Errorf("%d cells, want %d, or in another order", len(lines), len(want))
						}
						if files := jobtest.TreeFiles(t, memory, "/job"); len(files) != 2+len(got) {
							t.Errorf("left: %q", files)
						}
					})
				}
			}
		}
	}
}

// TestRewriteRefuses checks inputs that cannot be rewritten.
func TestRewriteRefuses(t *testing.T) {
	fsys := hdfsio.NewMemory()
	w := New(fsys, "/job", spec.DefaultFamily, 9, owned)
	f := jobtest.WriteCells(t, fsys, "/job/f/a", jobtest.SomeCells(3), hfile.Options{})
	changed, longer, other := f, f, f
	changed.Cells++
	longer.Cells-- // than recorded
	other.Family = "g"
	missing := loader.HFile{Family: "f", Path: jobtest.RewriteURI + "/job/f/b"}
	for _, file := range []loader.HFile{changed, longer} {
		if _, err := w.Cut(t.Context(), file, [][]byte{[]byte("000001")}); err == nil || !strings.Contains(err.Error(), "it was changed") {
			t.Errorf("a file of %d cells that is to have %d: %v", f.Cells, file.Cells, err)
		}
	}
	if _, err := w.Cut(t.Context(), missing, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := w.Cut(t.Context(), other, nil); err == nil || !strings.Contains(err.Error(), `family "f" in a file of family "g"`) {
		t.Errorf("a file of another family: %v", err)
	}
	for _, files := range [][]loader.HFile{{f}, {f, other}, {f, changed}, {f, longer}} {
		if _, err := w.Merge(t.Context(), files); err == nil {
			t.Errorf("merged %v", files)
		}
	}
	if files := jobtest.TreeFiles(t, fsys, "/job"); len(files) != 1 {
		t.Errorf("left: %q", files)
	}
}

// owned is the check of a job that no other process can take over.
func owned(context.Context) error { return nil }

// TestRewriteLosesItsJob checks that a failed rewriting leaves its files to the process that has taken over the job, which gives its own the same names.
func TestRewriteLosesItsJob(t *testing.T) {
	memory := hdfsio.NewMemory()
	f := jobtest.WriteCells(t, memory, "/job/f/"+strings.Repeat("a", 32), jobtest.SomeCells(3000), hfile.Options{})
	var theirs string
	fsys := &testfs.Faulty{FS: memory, Inject: func(o testfs.Op, name string, _ int64) *testfs.Fault {
		if o == testfs.OpRename {
			theirs = cmp.Or(theirs, name)
			return &testfs.Fault{Err: errors.New("the connection is lost")}
		}
		return nil
	}}
	lost := func(context.Context) error { return errors.New("another process has the job") }
	if _, err := New(fsys, "/job", spec.DefaultFamily, 9, lost).Cut(t.Context(), f, [][]byte{[]byte("000500")}); err == nil {
		t.Fatal("the rename was not needed")
	}
	if _, err := memory.Stat(t.Context(), theirs); err != nil {
		t.Errorf("a file that another process may write: %v", err)
	}
}

// TestRewriteTogether rewrites several files concurrently. The directory of
// incomplete files exists until the last one is complete, and is then removed.
func TestRewriteTogether(t *testing.T) {
	fsys := hdfsio.NewMemory()
	w := New(fsys, "/job", spec.DefaultFamily, 9, owned)
	cells := jobtest.SomeCells(200)
	var wg sync.WaitGroup
	for i := range 8 {
		f := jobtest.WriteCells(t, fsys, fmt.Sprintf("/job/f/%032x", i), cells, hfile.Options{})
		wg.Go(func() {
			for range 5 {
				children, err := w.Cut(t.Context(), f, [][]byte{[]byte("000050"), []byte("000100")})
				if err != nil || len(children) != 3 {
					t.Errorf("%d children, %v", len(children), err)
				}
			}
		})
	}
	wg.Wait()
	if files := jobtest.TreeFiles(t, fsys, "/job"); len(files) != 8+3*8 {
		t.Errorf("%d files, want 8 and 3 children of each", len(files))
	}
}

// reads records the ranges that were read.
type reads struct {
	io.ReaderAt
	spans [][2]int64
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.spans = append(r.spans, [2]int64{off, off + int64(n)})
	return n, err
}

// TestForwardReads reads a file of many blocks. Each byte is requested once:
// each backward seek would need a new connection on HDFS.
func TestForwardReads(t *testing.T) {
	memory := hdfsio.NewMemory()
	cells := jobtest.SomeCells(6000)
	f := jobtest.WriteCells(t, memory, "/job/f/a", cells, hfile.Options{BlockSize: 30_000})
	file, err := memory.Open(t.Context(), "/job/f/a")
	if err != nil {
		t.Fatal(err)
	}
	at := &reads{ReaderAt: file.(io.ReaderAt)}
	r, err := hfile.Open(&forward{at: at, size: f.Size}, f.Size, hfile.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at.spans = nil // the reads of the file's end, where its index is
	n := 0
	for s := r.Scan(); s.Next(); n++ {
	}
	if n != len(cells) {
		t.Errorf("%d cells, want %d", n, len(cells))
	}
	end := int64(0)
	for _, span := range at.spans {
		if span[0] != end {
			t.Errorf("read at %d after the end at %d", span[0], end)
		}
		end = span[1]
	}
	if len(at.spans) < 4 || len(at.spans) > int(f.Size/forwardWindow)+3 {
		t.Errorf("%d reads of %d bytes", len(at.spans), f.Size)
	}
}
