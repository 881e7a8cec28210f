package query

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// writtenBy returns a table of users that is read by a job and was written by another key. Rows have the columns of the job that are not skipped.
func writtenBy(t *testing.T, s spec.Spec, key string) (*Table, *fakeCluster) {
	t.Helper()
	job, err := s.Resolve()
	testcheck.Must(t, err)
	e, err := keygen.Parse(key)
	testcheck.Must(t, err)
	p, err := keygen.Compile(e, keygen.Options{Regions: 10})
	testcheck.Must(t, err)
	m := &memoryTable{keeps: true}
	for i := range 200 {
		values := map[string]string{"user": fmt.Sprintf("user%d", i/4), "ts": fmt.Sprint(i)}
		var fields [][]byte
		for _, column := range p.Columns() {
			fields = append(fields, []byte(values[column]))
		}
		row := loader.Row{}
		row.Key, err = p.Append(nil, fields)
		testcheck.Must(t, err)
		for _, c := range job.Columns {
			if !slices.Contains(s.Skip, c) {
				row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(c), Value: []byte(values[c])})
			}
		}
		m.rows = append(m.rows, row)
	}
	slices.SortFunc(m.rows, func(a, b loader.Row) int { return bytes.Compare(a.Key, b.Key) })
	c := &fakeCluster{memoryTable: m, regions: splitAt(1, partition.SaltSplits(10)...)}
	table, err := NewTable(c, job)
	testcheck.Must(t, err)
	return table, c
}

// TestCheckSaltsOfTheKey checks salts that have their number in the key, and so do not depend on the table.
func TestCheckSaltsOfTheKey(t *testing.T) {
	const rest = "user + '|' + ts"
	for _, c := range []struct {
		read, written string
		unfit         bool
	}{
		{"salt(user, 3) + ", "salt(user, 3) + ", false},
		{"salt(user, 3) + ", "salt(user, 7) + ", true},
		{"bytesalt(user, 4) + ", "bytesalt(user, 16) + ", true},
		{"spread(user) + ", "salt(user, 100) + ", true},
		{"spread(user) + ", "spread(user) + ", false},
		{"'u' + salt(user, 3) + ", "'v' + salt(user, 3) + ", false}, // rows of another program
		{"'u' + salt(user, 3) + ", "'u' + salt(user, 7) + ", true},
		{"", "salt(user, 3) + ", false}, // no salt
	} {
		table, cluster := writtenBy(t, spec.Spec{Table: "t", Key: c.read + rest, Query: []string{"user"}, Columns: []string{"user", "ts"}}, c.written+rest)
		_, err := table.CheckSalts(t.Context())
		cluster.regions = splitAt(2)
		if _, one := table.CheckSalts(t.Context()); (one == nil) != (err == nil) {
			t.Errorf("%q of rows by %q, in one region: %v", c.read, c.written, one)
		}
		if errors.Is(err, ErrSaltsUnfit) != c.unfit || !c.unfit && err != nil || c.unfit && fail.KindOf(err) != fail.Check {
			t.Errorf("%q of rows by %q: %v", c.read, c.written, err)
		}
	}
}

// TestCheckSaltsWithoutCells checks salts whose columns the table does not have as text: they are taken from the row keys.
func TestCheckSaltsWithoutCells(t *testing.T) {
	typed := spec.Mapping{Cells: []spec.CellSpec{{Column: "user", Type: "decimal"}, {Column: "ts"}}}
	for name, s := range map[string]spec.Spec{"not stored": {Mapping: spec.Mapping{Skip: []string{"user"}}}, "typed": {Mapping: typed}} {
		for written, unfit := range map[string]bool{"salt(user, 7)": true, "salt(user)": false} {
			s.Table, s.Key, s.Columns = "t", "salt(user) + user + '|' + ts", []string{"user", "ts"}
			table, _ := writtenBy(t, s, written+" + user + '|' + ts")
			if found, err := table.CheckSalts(t.Context()); errors.Is(err, ErrSaltsUnfit) != unfit || !unfit && (err != nil || found != SaltsFit) {
				t.Errorf("%s, rows by %s: %d, %v", name, written, found, err)
			}
		}
	}
	table, _ := writtenBy(t, spec.Spec{Table: "t", Key: "salt(user) + md5hex(user) + ts", Columns: []string{"user", "ts"}, Mapping: typed}, "salt(user, 7) + md5hex(user) + ts")
	if found, err := table.CheckSalts(t.Context()); err != nil || found != SaltsFit {
		t.Errorf("salts that cannot be computed: %d, %v", found, err)
	}
}

// TestCheckSaltsOfOtherRows checks that a table whose rows have none of the salt's columns, are too large or are no keys of the job is not taken for an
// empty one, nor for one whose salts are right.
func TestCheckSaltsOfOtherRows(t *testing.T) {
	s := spec.Spec{Table: "t", Key: "'u' + salt(user) + user + '|' + ts", Columns: []string{"user", "ts", "more"}}
	table, c := writtenBy(t, s, "'u' + salt(user) + user + '|' + ts")
	all := c.rows
	cell := func(qualifier string, n int) []loader.Cell {
		return []loader.Cell{{Family: []byte("f"), Qualifier: []byte(qualifier), Value: bytes.Repeat([]byte("x"), n)}}
	}
	for name, want := range map[string]struct {
		rows  []loader.Row
		found Salts
	}{
		"rows of the job":          {all, SaltsFit},
		"none":                     {nil, SaltsOfNoRow},
		"without the columns":      {[]loader.Row{{Key: []byte("u1user|1"), Cells: cell("more", 1)}}, SaltsUnknown},
		"large, without them":      {[]loader.Row{{Key: []byte("u1user|1"), Cells: cell("more", checkedBytes+1)}}, SaltsUnknown},
		"a large user":             {[]loader.Row{{Key: []byte("u1user|1"), Cells: cell("user", checkedBytes+1)}}, SaltsUnknown},
		"keys of something else":   {[]loader.Row{{Key: []byte("a1user|1"), Cells: cell("user", 1)}}, SaltsUnknown},
		"another family's columns": {[]loader.Row{{Key: []byte("u1user|1"), Cells: []loader.Cell{{Family: []byte("g"), Qualifier: []byte("user"), Value: []byte("x")}}}}, SaltsOfNoRow},
	} {
		c.rows = want.rows
		if found, err := table.CheckSalts(t.Context()); err != nil || found != want.found {
			t.Errorf("%s: %d, %v, want %d", name, found, err, want.found)
		}
	}
}

// TestGetOfOtherSalts checks that a get that found no row, or only those of some salts, compares the salts, and that one that found its row does not.
func TestGetOfOtherSalts(t *testing.T) {
	table, c := usersTable(t, 10, 0, 9)
	found, scans := 0, c.scans.Load()
	for i := range 50 {
		n, before := 0, c.scans.Load()
		_, err := table.readChecked(t.Context(), Query{Values: []string{fmt.Sprintf("user%d", i)}}, time.Now(), count(&n))
		if n == 0 && !errors.Is(err, ErrSaltsUnfit) || n > 0 && (err != nil || c.scans.Load() != before+1) {
			t.Errorf("user%d: %d rows, %v, %d scans", i, n, err, c.scans.Load()-before)
		}
		found += n
	}
	if found == 0 || found == 200 || c.scans.Load() == scans {
		t.Errorf("%d rows", found)
	}
	table, _ = usersTable(t, 10, 0, 10)
	if st, err := table.readChecked(t.Context(), Query{Values: []string{"nobody"}}, time.Now(), count(&found)); err != nil || st.Rows != 0 {
		t.Errorf("right salts: %+v, %v", st, err)
	}
}
