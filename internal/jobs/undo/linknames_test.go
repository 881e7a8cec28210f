package undo

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/loader"
)

// TestLinksThatHBaseCannotOpen checks that a restore is refused if it makes links to halves of files that look like references, and no other one.
func TestLinksThatHBaseCannotOpen(t *testing.T) {
	open := func(table string, half bool) *snapshot.Snapshot {
		s := testsnapshot.New(t, testsnapshot.Options{Table: table, HFiles: newLab(t, 1, "f").HFiles})
		s.Load(1, testsnapshot.Put("a", "f", "q", 5, "1"))
		if f := &s.Regions[0].Files[0]; half {
			f.Name, f.Cut = f.Name+"."+s.Encoded("x"), "g"
		}
		s.Save()
		opened, err := snapshot.Open(t.Context(), s.FS, s.Root, s.Snapshot)
		testcheck.Must(t, err)
		return opened
	}
	for _, c := range []struct {
		table             string
		before, now, into bool // the snapshot has a half, so has the table, a new table is made
		refused           bool
	}{
		{"2026.orders", true, false, false, true},
		{"2026.orders", true, true, false, false}, // the half stays
		{"2026.orders", true, true, true, true},
		{"2026.orders", false, true, true, false},
		{"a_SeqId_4_.b-c", true, false, false, true},
		{"2026_del.x", true, false, false, true},
		{"orders.2026", true, false, false, false},
		{"2026", true, false, false, false},
		{"a_SeqId_x_.b", true, false, false, false},
		{"ns:2026.orders", true, false, false, false},
	} {
		name, err := loader.ParseTableName(c.table)
		testcheck.Must(t, err)
		r := &restore{target: &target{load: &load{table: name}}, before: &tablesource.Source{Snapshot: open(c.table, c.before)}}
		if c.into {
			r.from.Into = "new"
		}
		if err := r.openable(open(c.table, c.now)); (fail.KindOf(err) == fail.Check) != c.refused || (err == nil) == c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestOutOfServiceIsSaid checks that an error of a restore in place says that the table is out of service, and keeps its kind.
func TestOutOfServiceIsSaid(t *testing.T) {
	r := &restore{target: &target{load: &load{table: loader.TableName{Namespace: "default", Qualifier: "t"}}}}
	cause := fail.With(fail.Load, errors.New("no answer"))
	if err := r.offline(cause); fail.KindOf(err) != fail.Load || !strings.Contains(err.Error(), "table t is out of service") {
		t.Error(err)
	}
	if r.from = (history.RestoredFrom{Into: "new"}); r.offline(cause) != cause || r.offline(nil) != nil {
		t.Error("a new table is not out of service")
	}
}
