package newkeys

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// resuming is a build with a journal that is stopped and repeated.
type resuming struct {
	*lab
	snap  *snapshot.Snapshot
	plan  *Plan
	state string // the job's directory
	out   build.Output
	spill string
	named int // files with their final names
}

func newResuming(t *testing.T, l *lab, s *snapshot.Snapshot, p *Plan) *resuming {
	t.Helper()
	r := &resuming{lab: l, snap: s, plan: p, state: filepath.Join(t.TempDir(), "t-0123456789ab"), spill: t.TempDir()}
	testcheck.Must(t, os.Mkdir(r.state, 0o700))
	r.out = build.Output{FS: l.FS, Dir: "/resumed-" + filepath.Base(t.TempDir()) + testcheck.Name(t), FileMode: 0o644, DirMode: 0o755}
	testcheck.Must(t, l.FS.MkdirAll(context.Background(), r.out.Dir, 0o755))
	return r
}

// build runs one attempt, which ends after the given number of files have their names; below 0: at its end. It returns the phases of the attempt.
func (r *resuming) build(files int) (m *manifest.Manifest, phases []string, err error) {
	r.t.Helper()
	st, err := checkpoint.OpenDir(r.t.Context(), nil, r.state, 0, progress.Events{})
	testcheck.Must(r.t, err)
	defer func() { testcheck.Must(r.t, st.Close()) }()
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	e := progress.Events{OnPhase: func(name string) { phases = append(phases, name) }, OnHFile: func(progress.HFile) {
		r.named++
		if files--; files == 0 {
			stop()
		}
	}}
	resume := st.Resume()
	testcheck.Must(r.t, resume.KeepWritten(r.t.Context(), []build.Table{{Out: r.out}}))
	m, err = Build(ctx, r.snap, r.plan, r.out, Options{Options: build.Options{Workers: 1, Memory: 24 << 20, SpillDir: r.spill, Events: e}}, resume)
	return m, phases, err
}

// TestBuildResumes checks that a build that is stopped after any of its files, with its sorted rows or without them, gives the
// same files, and does not read anything again that it still has.
func TestBuildResumes(t *testing.T) {
	l := newLab(t, []string{"g", "p"}, "f", "g")
	l.random(rand.New(rand.NewPCG(1, 2)), 1500)
	put := testsnapshot.Put
	var large []hfile.Cell // more than fits in the sort
	for i := range 1500 {
		row := fmt.Sprintf("a%05d", i)
		large = append(large, put(row, "f", "id", 900, fmt.Sprintf("%08x", uint32(i)*2654435761)), put(row, "f", "\xff\x00\xfe", 900, strings.Repeat(row, 2000)))
	}
	l.load(large...)
	s, p := l.open(), l.plan("id", "3", "6", "9", "c")
	want, _, err := l.build(s, p, Options{Options: build.Options{Workers: 2}})
	testcheck.Must(t, err)
	stops := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}[:len(want.Files)]
	if race.Reduced(t) {
		stops = stops[2:3]
	}
	for _, lost := range []bool{false, true} {
		for _, stop := range stops {
			t.Run(fmt.Sprintf("%d files, sorted rows lost %t", stop, lost), func(t *testing.T) {
				own := *l
				own.t = t
				r := newResuming(t, &own, s, p)
				if _, _, err := r.build(stop); !errors.Is(err, context.Canceled) && err != nil {
					t.Fatal(err)
				}
				if lost {
					spilled, err := filepath.Glob(filepath.Join(r.spill, "*"))
					if err != nil || len(spilled) != 1 {
						t.Fatalf("%q, %v", spilled, err)
					}
					testcheck.Must(t, os.RemoveAll(spilled[0]))
				}
				named := r.named
				m, phases, err := r.build(-1)
				testcheck.Must(t, err)
				if read := slices.Contains(phases, "read"); read != (lost && named < len(want.Files)) || r.named != len(want.Files) {
					t.Errorf("phases %q", phases)
				}
				r.same(t, m, want)
			})
		}
	}
}

// TestAnotherSnapshot checks that the sorted rows of a snapshot without rows are not used for another one.
func TestAnotherSnapshot(t *testing.T) {
	l := newLab(t, []string{"m"}, "f")
	p := l.plan("id", "8")
	empty := l.open()
	l.load(testsnapshot.Put("a", "f", "id", 900, "1"), testsnapshot.Put("z", "f", "id", 900, "9"))
	r := newResuming(t, l, empty, p)
	if m, _, err := r.build(-1); err != nil || m.Records != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	st, err := checkpoint.OpenDir(t.Context(), nil, r.state, 0, progress.Events{})
	testcheck.Must(t, err)
	testcheck.Must(t, st.ForgetBuild())
	testcheck.Must(t, st.Close())
	r.snap = l.open()
	if m, phases, err := r.build(-1); err != nil || m.Records != 2 || m.Digest.Rows != 2 || !slices.Contains(phases, "read") {
		t.Errorf("%+v, phases %q, %v", m, phases, err)
	}
}

// same compares a manifest and its files with those of an uninterrupted build.
func (r *resuming) same(t *testing.T, m, want *manifest.Manifest) {
	t.Helper()
	files := func(m *manifest.Manifest) (list []string) {
		for _, f := range m.Files {
			list = append(list, fmt.Sprintf("%s %d %d %d %08x", f.Name, f.Rows, f.Cells, f.Bytes, f.CRC32C))
		}
		return list
	}
	if got, want := files(m), files(want); !slices.Equal(got, want) {
		t.Errorf("files\n%q\nwant\n%q", got, want)
	}
	if m.RowSum != want.RowSum || m.Digest != want.Digest || m.Records != want.Records || m.Duplicates != want.Duplicates || *m.Times != *want.Times || !m.Stamped {
		t.Errorf("%+v\nwant\n%+v", m, want)
	}
	r.cells(m, r.plan, r.out.Dir)
}

// TestNamesAsText checks that columns are restored from text, and that other text is refused as damaged.
func TestNamesAsText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n := &columnNames{}
	for range 300 {
		qualifier := make([]byte, r.IntN(5))
		for i := range qualifier {
			qualifier[i] = byte(r.Uint32())
		}
		n.number(r.IntN(200), qualifier)
	}
	got, err := parseNames(n.text())
	testcheck.Must(t, err)
	same := func(a, b column) bool { return a.family == b.family && string(a.qualifier) == string(b.qualifier) }
	if !slices.EqualFunc(got, n.all(), same) {
		t.Errorf("%v\nwant\n%v", got, n.all())
	}
	n = &columnNames{}
	for i := range 40 {
		if number := n.number(0, append(make([]byte, 32<<10-1), byte(i))); (number > 0) != (i < 32) {
			t.Errorf("column %d of 32 KiB has number %d", i+1, number)
		}
	}
	if n.number(0, []byte{0}) != 0 || n.number(0, append(make([]byte, 32<<10-1), 3)) != 4 {
		t.Error("a column more has a number, or one of before has none")
	}
	for _, text := range []string{"?", n.text()[:len(n.text())/8*4] + "=", "BQk="} {
		if _, err := parseNames(text); !errors.Is(err, extsort.ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
	row := &decoder{err: extsort.ErrCorrupt}
	if err := row.Row([]byte{0}, func(int, *hfile.Cell) error { return nil }); !errors.Is(err, extsort.ErrCorrupt) {
		t.Errorf("rows without names: %v", err)
	}
}
