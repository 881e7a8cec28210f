package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// fakeCluster is a table in memory whose regions a test can change.
type fakeCluster struct {
	*memoryTable
	regions []loader.Region
	before  func() // called before each scan
}

func (c *fakeCluster) KnownRegions(context.Context, loader.TableName) ([]loader.Region, error) {
	return c.regions, nil
}

func (c *fakeCluster) Regions(ctx context.Context, table loader.TableName) ([]loader.Region, error) {
	return c.KnownRegions(ctx, table)
}

func (c *fakeCluster) Describe(context.Context, loader.TableName) (*loader.Table, error) {
	return &loader.Table{}, nil
}

func (c *fakeCluster) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	if c.before != nil {
		c.before()
	}
	return c.memoryTable.Scan(ctx, req, fn)
}

// splitAt returns the regions of a generation, between split points.
func splitAt(generation int, splits ...[]byte) []loader.Region {
	var regions []loader.Region
	var start []byte
	for _, end := range append(slices.Clone(splits), nil) {
		regions = append(regions, loader.Region{Name: fmt.Appendf(nil, "t,%s,%d", start, generation), Start: start, End: end, Server: "rs:1"})
		start = end
	}
	return regions
}

// usersTable returns a table of rows that were written with a modulus, read by a job with another modulus or none.
func usersTable(t *testing.T, written, said, splitFor int) (*Table, *fakeCluster) {
	t.Helper()
	job, err := spec.Spec{Table: "t", Key: "salt(user) + user + '|' + ts", Query: []string{"user"}, Columns: []string{"user", "ts"}, Regions: said}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := keygen.Compile(job.RowKey(), keygen.Options{Regions: written})
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryTable{}
	for i := range 200 {
		user := fmt.Sprintf("user%d", i/4)
		key, err := p.Append(nil, [][]byte{[]byte(user), fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		cell := func(q, v string) loader.Cell {
			return loader.Cell{Family: []byte("f"), Qualifier: []byte(q), Value: []byte(v)}
		}
		m.rows = append(m.rows, loader.Row{Key: key, Cells: []loader.Cell{cell("user", user), cell("ts", fmt.Sprint(i))}})
	}
	slices.SortFunc(m.rows, func(a, b loader.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
	c := &fakeCluster{memoryTable: m, regions: splitAt(1, partition.SaltSplits(splitFor)...)}
	table, err := NewTable(c, job)
	if err != nil {
		t.Fatal(err)
	}
	return table, c
}

func count(n *int) func(loader.Row) error { return func(loader.Row) error { *n++; return nil } }

// TestCheckSalts checks the modulus against the rows, whatever the split points imply.
func TestCheckSalts(t *testing.T) {
	for name, c := range map[string]struct {
		written, said, split int
		unfit                bool
	}{
		"shown by the splits":           {10, 0, 10, false},
		"said, and the splits agree":    {10, 10, 10, false},
		"said, regions were merged":     {10, 10, 9, false},
		"said, split for others":        {3, 3, 10, false},
		"said wrong: the original's 3":  {10, 3, 10, true},
		"said wrong, half of them":      {10, 5, 10, true},
		"said wrong, more than written": {5, 10, 5, true},
		"the splits are wrong":          {10, 0, 9, true},
		"one region, one salt":          {1, 0, 1, false},
	} {
		table, _ := usersTable(t, c.written, c.said, c.split)
		_, err := table.CheckSalts(t.Context())
		if errors.Is(err, ErrSaltsUnfit) != c.unfit || !c.unfit && err != nil || c.unfit && fail.KindOf(err) != fail.Check {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		if _, err := table.Read(t.Context(), Query{Values: []string{"user7"}}, count(&n)); err != nil || n != 4 && !c.unfit {
			t.Errorf("%s: %d rows of user7, %v", name, n, err)
		}
	}
}

// TestJavaSalt reads rows whose salts are Java's signed bytes, each from its own region: all of them in the order of the original
// key, and those of a user from one region.
func TestJavaSalt(t *testing.T) {
	job, err := spec.Spec{Table: "t", Key: "javasalt(user, 16) + user + '|' + ts", Query: []string{"user"}, Columns: []string{"user", "ts"}}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, err := keygen.Compile(job.RowKey(), keygen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryTable{keeps: true}
	var want []string
	salts := map[byte]bool{}
	for i := range 500 {
		user := userName(i)
		key, err := p.Append(nil, [][]byte{[]byte(user), []byte("1")})
		if err != nil {
			t.Fatal(err)
		}
		if hash := int(keygen.JavaHash([]byte(user))); key[0] != byte(int8(hash%16)) {
			t.Fatalf("salt %x of a hash %d", key[0], hash)
		}
		salts[key[0]] = true
		want = append(want, string(key[1:]))
		m.rows = append(m.rows, loader.Row{Key: key, Cells: []loader.Cell{{Family: []byte("f"), Qualifier: []byte("user"), Value: []byte(user)}}})
	}
	slices.SortFunc(m.rows, func(a, b loader.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
	c := &fakeCluster{memoryTable: m, regions: splitAt(1, partition.JavaSaltSplits(16)...)}
	table, err := NewTable(c, job)
	if err != nil {
		t.Fatal(err)
	}
	if len(salts) != 31 || len(c.regions) != 31 {
		t.Errorf("%d salts and %d regions, want 31", len(salts), len(c.regions))
	}
	var got []string
	take := func(row loader.Row) error { got = append(got, string(row.Key[1:])); return nil }
	if _, err := table.Read(t.Context(), Query{From: []string{"申"}, Limit: 1000}, take); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %d rows in order, want %d: %q", err, len(got), len(want), got[min(len(got), 498):min(len(got), 506)])
	}
	for i := range 500 {
		n := 0
		if _, err := table.Read(t.Context(), Query{Values: []string{userName(i)}}, count(&n)); err != nil || n != 1 {
			t.Fatalf("user %d: %d rows, %v", i, n, err)
		}
	}
}

// userName returns a name. The hashes of names have either sign.
func userName(i int) string { return fmt.Sprintf("申请%04d-%x", i, i*7919*104729) }

// TestModulusIsHeld checks that split points are refused that imply another number of salts than the first ones.
func TestModulusIsHeld(t *testing.T) {
	table, c := usersTable(t, 10, 0, 10)
	if n, err := table.Modulus(t.Context()); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	c.regions = splitAt(2, partition.SaltSplits(5)...)
	if _, err := table.Modulus(t.Context()); !errors.Is(err, ErrSaltsChanged) {
		t.Errorf("got %v", err)
	}
	c.regions = splitAt(3, append(partition.SaltSplits(10), []byte("95"))...)
	if n, err := table.Modulus(t.Context()); n != 10 || err != nil {
		t.Errorf("a salt's region was split: %d, %v", n, err)
	}
}

// TestSteady checks that a read ends when regions change during the read of a key or a range, and not when one only
// moves.
func TestSteady(t *testing.T) {
	table, c := usersTable(t, 10, 0, 10)
	for _, q := range []Query{{Values: []string{"user7"}}, {From: []string{"user1"}}} {
		for name, change := range map[string]struct {
			to      []loader.Region
			changed bool
		}{
			"moved":    {splitAt(1, partition.SaltSplits(10)...), false},
			"split":    {splitAt(1, append(partition.SaltSplits(10), []byte("95"))...), true},
			"replaced": {splitAt(2, partition.SaltSplits(10)...), true},
		} {
			before := c.regions
			c.before = func() { c.regions = change.to }
			n := 0
			_, err := table.Read(t.Context(), Query{Values: q.Values, From: q.From, Steady: true, Scans: 1}, count(&n))
			if errors.Is(err, ErrRegionsChanged) != change.changed || !change.changed && err != nil {
				t.Errorf("%v, %s: %v", q, name, err)
			}
			c.regions, c.before = before, nil
		}
	}
}

// TestReadingAsksForMemory counts the memory beyond a read's own share, and checks that the read ends when there is
// no more.
func TestReadingAsksForMemory(t *testing.T) {
	table, c := usersTable(t, 10, 0, 10)
	for i := range c.rows {
		c.rows[i].Cells[0].Value = []byte(strings.Repeat("x", 40<<10))
	}
	var asked int64
	n := 0
	q := Query{From: []string{"user"}, Memory: 64 << 10, More: func(b int64) bool { asked += b; return true }}
	if _, err := table.Read(t.Context(), q, count(&n)); err != nil || n != 200 {
		t.Fatal(n, err)
	}
	// ten salts, a row of 40 KiB and the next one of each, and 3 × 16 KiB in transit
	if least, most := int64((10*40)<<10), int64(10*((2*41)<<10+(3*16)<<10)); asked < least || asked > most {
		t.Errorf("%d bytes were asked for, want %d to %d", asked, least, most)
	}
	asked = 0
	q.More = func(b int64) bool { asked += b; return asked < 600<<10 }
	if _, err := table.Read(t.Context(), q, count(&n)); !errors.Is(err, ErrMemory) {
		t.Errorf("got %v", err)
	}
	// a key of one salt stays within its share
	q = Query{Values: []string{"nobody"}, Memory: 256 << 10, More: func(b int64) bool { t.Errorf("%d bytes", b); return false }}
	if _, err := table.Read(t.Context(), q, count(&n)); err != nil {
		t.Error(err)
	}
}

// TestValuesThatNoRowHas queries by values that a column's type does not take, in a key without separators: no row has them, although keys of others
// begin with them. A row without the cell may have the value in its key.
func TestValuesThatNoRowHas(t *testing.T) {
	job, err := spec.Spec{Table: "t", Key: "day + id", Query: []string{"day"}, Columns: []string{"day", "id"},
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "day", Type: "date", Layout: "yyyy-MM-dd"}, {Column: "id"}}}}.Resolve()
	testcheck.Must(t, err)
	m := &memoryTable{keeps: true}
	for _, day := range []string{"2017-01-01", "2017-02-03"} {
		known := job.QueryCells([]string{"day"}, []string{day})
		m.rows = append(m.rows, loader.Row{Key: []byte(day + "1"), Cells: []loader.Cell{
			{Family: []byte("f"), Qualifier: []byte("day"), Value: []byte(known[0].Value)}, {Family: []byte("f"), Qualifier: []byte("id"), Value: []byte("1")}}})
	}
	m.rows = append(m.rows, loader.Row{Key: []byte("2018"), Cells: []loader.Cell{{Family: []byte("f"), Qualifier: []byte("id"), Value: []byte("2018")}}})
	table, err := NewTable(&fakeCluster{memoryTable: m, regions: splitAt(1)}, job)
	testcheck.Must(t, err)
	for day, want := range map[string]int{"2017-01-01": 1, "2017-0": 0, "2017": 0, "2017-02-03": 1, "2017-02-031": 0, "2018": 1} {
		n := 0
		if _, err := table.Read(t.Context(), Query{Values: []string{day}}, count(&n)); err != nil || n != want {
			t.Errorf("%s: %d rows, want %d; %v", day, n, want, err)
		}
	}
}

// TestLargeRowsOfOtherKeys reads the rows of a key without a separator, among whose prefixes are rows of other keys that are too large: all rows of the
// key are read, in one page or several, and one of the key that is too large still ends the page.
func TestLargeRowsOfOtherKeys(t *testing.T) {
	for name, c := range map[string]struct {
		key   string
		salts int
	}{"one salt": {"user + ts", 1}, "merged": {"salt(ts, 3) + user + ts", 3}} {
		job, err := spec.Spec{Table: "t", Key: c.key, Query: []string{"user"}, Columns: []string{"user", "ts", "text"}}.Resolve()
		testcheck.Must(t, err)
		p, err := keygen.Compile(job.RowKey(), keygen.Options{Regions: c.salts})
		testcheck.Must(t, err)
		f := &fakeCluster{memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}
		add := func(user, ts string, size int) {
			values := map[string]string{"user": user, "ts": ts}
			var fields [][]byte
			for _, column := range p.Columns() {
				fields = append(fields, []byte(values[column]))
			}
			key, err := p.Append(nil, fields)
			testcheck.Must(t, err)
			row := loader.Row{Key: key}
			for q, v := range map[string]string{"text": strings.Repeat("x", size), "ts": ts, "user": user} {
				row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(q), Value: []byte(v)})
			}
			f.rows = append(f.rows, row)
			slices.SortFunc(f.rows, func(a, b loader.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
		}
		for i := range 20 {
			ts := string(rune('A' + i))
			add("AB", ts, 10)
			add("AB"+ts+"x", fmt.Sprint(i), 4<<10)
		}
		table, err := NewTable(f, job)
		testcheck.Must(t, err)
		read := func(limit int64) (all []string, err error) {
			q := Query{Values: []string{"AB"}, Limit: limit, RowBytes: 3 << 10, Columns: []string{"ts", "text"}}
			for range 30 {
				st, err := table.Read(t.Context(), q, func(row loader.Row) error { all = append(all, string(row.Key)); return nil })
				if q.Page = st.Next; err != nil || q.Page == "" {
					return all, err
				}
			}
			return all, errors.New("no end of pages")
		}
		for _, limit := range []int64{0, 1, 7} {
			if rows, err := read(limit); err != nil || len(rows) != 20 {
				t.Errorf("%s, limit %d: %q, %v", name, limit, rows, err)
			}
		}
		add("AB", "Nx", 4<<10)
		if rows, err := read(0); !errors.Is(err, loader.ErrRowTooLarge) || len(rows) < 10 || len(rows) >= 20 {
			t.Errorf("%s: a large row of the key: %q, %v", name, rows, err)
		}
	}
}

// TestTokensAfterAMerge checks that a page token of a key that does not depend on the regions is taken after they were merged, also by
// another process; one of a key that does is refused.
func TestTokensAfterAMerge(t *testing.T) {
	for key, taken := range map[string]bool{"salt(user, 3) + user + '|' + ts": true, "user + '|' + ts": true, "salt(user) + user + '|' + ts": false} {
		job, err := spec.Spec{Table: "t", Key: key, Query: []string{"user"}, Columns: []string{"user", "ts"}}.Resolve()
		testcheck.Must(t, err)
		p, err := keygen.Compile(job.RowKey(), keygen.Options{Regions: 10})
		testcheck.Must(t, err)
		c := &fakeCluster{memoryTable: newMemoryTable(), regions: splitAt(1, partition.SaltSplits(10)...)}
		for i := range 4 {
			row, err := p.Append(nil, [][]byte{[]byte("u"), fmt.Append(nil, i)})
			testcheck.Must(t, err)
			c.rows = append(c.rows, loader.Row{Key: row, Cells: []loader.Cell{{Family: []byte("f"), Qualifier: []byte("user"), Value: []byte("u")}}})
		}
		before, err := NewTable(c, job)
		testcheck.Must(t, err)
		n := 0
		q := Query{Values: []string{"u"}, Limit: 2}
		st, err := before.Read(t.Context(), q, count(&n))
		testcheck.Must(t, err)
		c.regions = splitAt(2, partition.SaltSplits(10)[1:]...)
		after, err := NewTable(c, job)
		testcheck.Must(t, err)
		q.Page = st.Next
		if _, err := after.Read(t.Context(), q, count(&n)); (err == nil) != taken || taken && n != 4 {
			t.Errorf("%s: %d rows, %v", key, n, err)
		}
	}
}

// TestTypesOfValuesAsQualifiers checks that cells whose qualifiers are values are read as the texts of their type, unless their family has several types.
func TestTypesOfValuesAsQualifiers(t *testing.T) {
	wide := func(family, typ string) spec.CellSpec {
		return spec.CellSpec{Column: "n", Family: family, QualifierFrom: "q", Type: typ}
	}
	job, err := spec.Spec{Table: "t", Key: "id", Columns: []string{"id", "n", "q"},
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "id", Family: "o"}, wide("o", "int"), wide("p", "int"), wide("p", "")}}}.Resolve()
	testcheck.Must(t, err)
	row := loader.Row{}
	for _, c := range [][3]string{{"o", "17", "\x00\x00\x00A"}, {"o", "id", "\x00\x00\x00A"}, {"p", "1", "\x00\x00\x00A"}} {
		row.Cells = append(row.Cells, loader.Cell{Family: []byte(c[0]), Qualifier: []byte(c[1]), Value: []byte(c[2])})
	}
	revert(reverters(job), row)
	if got := []string{string(row.Cells[0].Value), string(row.Cells[1].Value), string(row.Cells[2].Value)}; !slices.Equal(got, []string{"65", "\x00\x00\x00A", "\x00\x00\x00A"}) {
		t.Errorf("%q", got)
	}
}

// TestColumnsTwice checks that a column that is asked for twice is refused, under whatever names.
func TestColumnsTwice(t *testing.T) {
	table, _ := usersTable(t, 10, 0, 10)
	for _, columns := range [][]string{{"ts", "ts"}, {"ts", "f:ts"}} {
		if _, err := table.Read(t.Context(), Query{Columns: columns}, count(new(int))); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%q: %v", columns, err)
		}
	}
}
