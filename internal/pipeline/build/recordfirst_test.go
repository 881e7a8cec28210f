package build

import (
	"errors"
	"os"
	"strings"
	"testing"

	"bulkload/internal/pipeline/streams"
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
