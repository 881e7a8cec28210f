package statetable

import (
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// change writes a cell of a job behind its owner's back, or deletes it.
func (t *Table) change(tb testing.TB, job, family, qualifier, value string) {
	tb.Helper()
	c, err := t.Read(tb.Context(), job)
	testcheck.Must(tb, err)
	cell := loader.Cell{Family: []byte(family), Qualifier: []byte(qualifier), Value: []byte(value)}
	for _, now := range c.cells {
		if string(now.Qualifier) == qualifier {
			cell.Timestamp = now.Timestamp
		}
	}
	if value != "" {
		cell.Timestamp = 0
	}
	done, err := t.cluster.Mutate(tb.Context(), t.name, loader.Mutation{Row: []byte(job), Delete: value == "", If: ownerCell(c.owner), Cells: []loader.Cell{cell}})
	if err != nil || !done {
		tb.Fatal(done, err)
	}
}

// TestRowWithoutOwner checks that a job whose owner cell is deleted or not readable keeps its records, also those after a restart.
func TestRowWithoutOwner(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	o, _, err := table.Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	for owner, texts := range map[string][]string{"": {"one", "two"}, "{nonsense": {"three", "four", "five"}} {
		testcheck.Must(t, o.Restart(t.Context()))
		testcheck.Must(t, write(t, o, lines(texts...)))
		testcheck.Must(t, o.Release(t.Context()))
		table.change(t, "job", ownerFamily, string(ownerColumn), owner)
		var c *Content
		o, c, err = silent(table).Take(t.Context(), "job", nil, nil)
		checkRecords(t, c, err, lines(texts...))
		testcheck.Must(t, o.Append(t.Context(), []byte("next")))
		c, err = table.Read(t.Context(), "job")
		checkRecords(t, c, err, lines(append(texts, "next")...))
	}
	testcheck.Must(t, o.Delete(t.Context()))
}

// TestDamagedRow checks that a row with cells that no owner has written, or without some of them, names the damage in its last line, that other jobs
// are read, and that the job can be taken and removed.
func TestDamagedRow(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, c := range []struct{ family, qualifier, value, want string }{
		{recordFamily, "000000-000000000002-000000", "", "record 2 is missing"},
		{recordFamily, "v2-000000000002", "x", `"v2-000000000002" is not the key of a record`},
		{recordFamily, "000001-000000000001-000000", "x", "record 1 is of generation 1, and the owner of 0"},
	} {
		other, _, err := table.Take(t.Context(), "another", nil, nil)
		testcheck.Must(t, err)
		testcheck.Must(t, other.Append(t.Context(), []byte("its record")))
		o, _, err := table.Take(t.Context(), "job", nil, nil)
		testcheck.Must(t, err)
		testcheck.Must(t, write(t, o, lines("one", "two", "three")))
		testcheck.Must(t, o.Release(t.Context()))
		table.change(t, "job", c.family, c.qualifier, c.value)
		all := map[string]string{}
		testcheck.Must(t, table.All(t.Context(), func(job string, c *Content) error {
			all[job] = string(c.Records[len(c.Records)-1])
			return nil
		}))
		if len(all) != 2 || all["another"] != "its record" || all["job"] != c.want {
			t.Errorf("%s: the last records are %q", c.want, all)
		}
		o, content, err := silent(table).Take(t.Context(), "job", nil, nil)
		testcheck.Must(t, err)
		if got := string(content.Records[len(content.Records)-1]); got != c.want {
			t.Errorf("%s: the new owner reads %q", c.want, got)
		}
		testcheck.Must(t, o.Delete(t.Context()))
		testcheck.Must(t, other.Delete(t.Context()))
	}
	testcheck.Must(t, table.All(t.Context(), func(job string, c *Content) error {
		t.Errorf("%s is left: %s", job, c.Records)
		return nil
	}))
}
