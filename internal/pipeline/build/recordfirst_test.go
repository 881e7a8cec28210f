package build

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// recordsFirst checks that the file or directory that a record announces does not exist yet, and fails as if a crash had torn the record.
type recordsFirst struct {
	noCheckpoint
	t   *testing.T
	all []string
}

func (c *recordsFirst) announced(name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		c.t.Errorf("%s is there before its record: %v", name, err)
	}
	c.all = append(c.all, name)
	return errStopped
}

func (c *recordsFirst) Spilling(s SpillRecord) error     { return c.announced(s.Dir) }
func (c *recordsFirst) Streaming(s streams.Record) error { return c.announced(s.Copy) }

// TestRecordComesFirst checks that a directory for sorted rows and the copy of a stream are created after the record that names
// them, so that a torn record leaves nothing that is missing in the journal.
func TestRecordComesFirst(t *testing.T) {
	dir := t.TempDir()
	done := NewDone()
	c := &recordsFirst{noCheckpoint: noCheckpoint{&done}, t: t}
	r := &Resume{Done: &done, Checkpoint: c, Name: "job"}
	if _, _, err := r.openSort(extsort.Options{Regions: 1, Workers: 1, Memory: 1 << 20, Dir: dir}, Options{}); !errors.Is(err, errStopped) {
		t.Errorf("sorted rows: %v", err)
	}
	st, err := streams.Find(t.Context(), nil, []string{streams.Stdin}, piped(t, nil), nil)
	if err == nil {
		err = st.Keep(t.Context(), streams.Options{SpillDir: dir}, r.streams(), streams.Needed{})
	}
	if !errors.Is(err, errStopped) {
		t.Errorf("a stream: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || len(c.all) != 2 {
		t.Errorf("announced were %q, left is %v, %v", c.all, left, err)
	}
	for _, name := range c.all {
		if err := RemoveSpill("job", name); err != nil || !strings.HasPrefix(name, dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// brokenJournal records some files, and fails from then on, like a journal on a disk that is full.
type brokenJournal struct {
	noCheckpoint
	left, recorded int
	err            error
}

func (b *brokenJournal) Wrote(r WrittenRecord) error {
	if b.left == 0 {
		return b.err
	}
	b.left--
	b.recorded++
	return b.noCheckpoint.Wrote(r)
}

// TestFilesWithoutTheirRecordAreNotWrittenAgain makes the records of files fail: no file is written again for it, and files count only with their
// record.
func TestFilesWithoutTheirRecordAreNotWrittenAgain(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 1000)
	s := jobtest.Resolve(t, spec.Spec{Inputs: []string{input}, Key: "salt(id, 10) + id", Timestamp: 1700000000000})
	var mu sync.Mutex
	files, again := 0, 0
	w := WorkOptions{Workers: 2, SpillDir: t.TempDir(), Events: progress.Events{
		OnHFile: func(progress.HFile) {
			mu.Lock()
			defer mu.Unlock()
			files++
		},
		OnNote: func(msg string, _ ...any) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(msg, "written again") {
				again++
			}
		},
	}}
	in, err := OpenInput(t.Context(), env.Source, s, w)
	testcheck.Must(t, err)
	p, err := cells.NewPlan(s, in.Source.Columns(), jobtest.Family, partition.SaltSplits(10), 0)
	testcheck.Must(t, err)
	done := NewDone()
	journal := &brokenJournal{noCheckpoint: noCheckpoint{&done}, left: 4, err: fail.With(fail.HDFS, errors.New("broken by the test"))}
	_, err = in.Build(t.Context(), p, Output{FS: hdfsio.Local{}, Dir: t.TempDir(), Retry: quickRetry}, w, 0, &Resume{Done: &done, Checkpoint: journal, Name: "job"})
	if !errors.Is(err, journal.err) || fail.KindOf(err) != fail.HDFS || strings.Contains(err.Error(), "times") {
		t.Error(err)
	}
	if again != 0 || files != journal.recorded || journal.recorded != 4 {
		t.Errorf("%d files are written again, %d count, %d are recorded", again, files, journal.recorded)
	}
}
