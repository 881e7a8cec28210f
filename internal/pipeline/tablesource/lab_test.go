package tablesource_test

import (
	"testing"

	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// lab is the table n:t in a local directory.
type lab struct {
	*testsnapshot.Table
	t testing.TB
}

// newLab makes a table with the families f and g.
func newLab(t testing.TB, splits ...string) *lab {
	return newLabOf(t, testsnapshot.Options{Families: []string{"f", "g"}, Versions: 3, Splits: splits, Created: 1_000_000})
}

func newLabOf(t testing.TB, o testsnapshot.Options) *lab {
	o.FS, o.Root, o.Table = hdfsio.Local{}, t.TempDir(), "n:t"
	return &lab{Table: testsnapshot.New(t, o), t: t}
}

// del returns a delete marker for a column.
func del(row, family, qualifier string, ts int64) hfile.Cell {
	c := testsnapshot.Put(row, family, qualifier, ts, "")
	c.Type = hfile.DeleteColumn
	return c
}
