package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"

	"pgregory.net/rapid"
)

// fakeTables are several tables in memory.
type fakeTables map[string]*fakeCluster

func (f fakeTables) of(name loader.TableName) *fakeCluster { return f[name.String()] }

func (f fakeTables) KnownRegions(ctx context.Context, t loader.TableName) ([]loader.Region, error) {
	return f.of(t).KnownRegions(ctx, t)
}

func (f fakeTables) Regions(ctx context.Context, t loader.TableName) ([]loader.Region, error) {
	return f.of(t).Regions(ctx, t)
}

func (f fakeTables) Describe(ctx context.Context, t loader.TableName) (*loader.Table, error) {
	return f.of(t).Describe(ctx, t)
}

func (f fakeTables) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	return f.of(req.Table).Scan(ctx, req, fn)
}

// put writes a row, which replaces one with the same key.
func (f fakeTables) put(table, key string, cells ...string) {
	t := f[table]
	row := loader.Row{Key: []byte(key)}
	for i := 0; i < len(cells); i += 2 {
		row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(cells[i]), Value: []byte(cells[i+1])})
	}
	at, found := slices.BinarySearchFunc(t.rows, key, func(r loader.Row, key string) int { return strings.Compare(string(r.Key), key) })
	if found {
		t.rows[at] = row
		return
	}
	t.rows = slices.Insert(t.rows, at, row)
}

// TestReadByAnIndex loads random nights into a table and its index, like loads do: entries are never removed. Reading through the
// index returns exactly the rows that have the value now, each once, whatever the limit of a page; a key without a separator does not
// mix values.
func TestReadByAnIndex(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"day + id", `day + "|" + state + id`, "salt(id, 3) + day + id"}).Draw(t, "key")
		job, err := spec.Spec{Table: "t", Key: "md5hex(id) + id", Columns: []string{"id", "day", "state", "note"},
			Tables: []spec.TableSpec{{Index: "by_day", Table: "x", Key: key, Query: []string{"day"}}}}.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		index, err := job.Index("by_day")
		if err != nil {
			t.Fatal(err)
		}
		f := fakeTables{"t": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}, "x": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1, partition.SaltSplits(3)...)}}
		type record struct{ id, day, state, note string }
		now := map[string]record{}
		keyOf := func(j spec.Job, r record) string {
			b, err := keyrange.Bytes(keygen.Parts(j.RowKey()), 3, map[string]string{"id": r.id, "day": r.day, "state": r.state})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for night := range rapid.IntRange(1, 4).Draw(t, "nights") {
			for range rapid.IntRange(0, 40).Draw(t, "records") {
				r := record{fmt.Sprintf("%02d", rapid.IntRange(0, 30).Draw(t, "id")), rapid.SampledFrom([]string{"1", "11", "12"}).Draw(t, "day"),
					rapid.SampledFrom([]string{"a", "b"}).Draw(t, "state"), fmt.Sprint(night)}
				row := keyOf(job, r)
				if rapid.IntRange(0, 9).Draw(t, "gone") == 0 { // the row is deleted
					f["t"].rows = slices.DeleteFunc(f["t"].rows, func(have loader.Row) bool { return string(have.Key) == row })
					delete(now, r.id)
					continue
				}
				now[r.id] = r
				f.put("t", row, "day", r.day, "id", r.id, "note", r.note, "state", r.state)
				f.put("x", keyOf(index.Job, r), spec.RowCell, row)
			}
		}
		x, err := NewIndex(f, job, "by_day")
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range []string{"1", "11", "12", "2"} {
			var want, got []string
			for _, r := range now {
				if r.day == day {
					want = append(want, r.id+r.note)
				}
			}
			q := Query{Values: []string{day}, Limit: int64(rapid.IntRange(0, 5).Draw(t, "limit")), Columns: []string{"note", "id"}}
			stop := rapid.IntRange(0, 6).Draw(t, "stop") // row of a page at which the reader ends; 0 and 1: never
			errStop := errors.New("full")
			if rapid.Bool().Draw(t, "bounded") {
				q.RowBytes = 1000
			}
			for {
				n := 0
				st, err := x.Read(context.Background(), q, func(row loader.Row) error {
					if stop > 1 && n+1 == stop {
						return errStop
					}
					n++
					if len(row.Cells) != 2 {
						return fmt.Errorf("cells %v", row.Cells)
					}
					got = append(got, string(row.Cells[0].Value)+string(row.Cells[1].Value))
					return nil
				})
				if err != nil && !errors.Is(err, errStop) {
					t.Fatal(err)
				}
				if st.Rows != n || q.Limit > 0 && int64(n) > q.Limit {
					t.Fatalf("%d rows of at most %d, the stats say %d", n, q.Limit, st.Rows)
				}
				if q.Page = st.Next; q.Page == "" {
					break
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("by day %s: %q, want %q", day, got, want)
			}
		}
	})
}

// byDay returns a table of n rows of the day 1, named by their numbers, and its index.
func byDay(t *testing.T, n int) *Index {
	t.Helper()
	job, err := spec.Spec{Table: "t", Key: "id", Columns: []string{"id", "day"},
		Tables: []spec.TableSpec{{Index: "by_day", Table: "x", Key: "day + '|' + id", Query: []string{"day"}}}}.Resolve()
	testcheck.Must(t, err)
	f := fakeTables{"t": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}, "x": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}}
	for i := range n {
		id := fmt.Sprintf("%04d", i)
		f.put("t", id, "day", "1", "id", id)
		f.put("x", "1|"+id, spec.RowCell, id)
	}
	x, err := NewIndex(f, job, "by_day")
	testcheck.Must(t, err)
	return x
}

// TestPagesThatEndWithoutMemory checks that a page that memory ends after some rows has a token, with which the rows after it are read: when
// further entries do not fit, and when memory is gone as the reader ends the page.
func TestPagesThatEndWithoutMemory(t *testing.T) {
	const rows = 2*entriesAtATime + 88
	errStop := errors.New("full")
	for name, c := range map[string]struct {
		end  int // the number of rows from which on no memory is given
		stop int // row at which the reader ends the page
	}{"the second entries": {entriesAtATime, rows}, "the third entries": {2 * entriesAtATime, rows}, "the reader": {100, 100}} {
		t.Run(name, func(t *testing.T) {
			x := byDay(t, rows)
			var got []string
			q := Query{Values: []string{"1"}, Limit: 1000, Memory: 1, More: func(int64) bool { return len(got) < c.end }}
			st, err := x.Read(t.Context(), q, func(row loader.Row) error {
				if len(got) == c.stop {
					return errStop
				}
				got = append(got, string(row.Key))
				return nil
			})
			if want := cmp.Or(errors.Is(err, errStop), c.stop == rows && errors.Is(err, ErrMemory)); !want || len(got) != c.end || st.Next == "" {
				t.Fatalf("%d rows, page token %q, error %v", len(got), st.Next, err)
			}
			q.Page, q.More = st.Next, nil
			_, err = x.Read(t.Context(), q, func(row loader.Row) error {
				got = append(got, string(row.Key))
				return nil
			})
			testcheck.Must(t, err)
			for i, key := range got {
				if key != fmt.Sprintf("%04d", i) {
					t.Fatalf("row %d is %s", i, key)
				}
			}
			if len(got) != rows {
				t.Errorf("%d rows, want %d", len(got), rows)
			}
		})
	}
}

// TestManyStaleEntries checks that a small page after many stale entries takes few reads of the index, and that its token continues after its last row.
func TestManyStaleEntries(t *testing.T) {
	const stale, rows = 3*entriesAtATime + 40, 7
	for limit := range 4 {
		x := byDay(t, stale+rows)
		f := x.cluster.(fakeTables)
		f["t"].rows = slices.DeleteFunc(f["t"].rows, func(r loader.Row) bool { return string(r.Key) < fmt.Sprintf("%04d", stale) })
		for i := range 5 { // between the rows that are there
			f.put("x", fmt.Sprintf("1|%04d-", stale+i), spec.RowCell, "gone")
		}
		var got []string
		q := Query{Values: []string{"1"}, Limit: int64(limit)}
		for pages := 0; ; pages++ {
			before, first := f["x"].scans.Load(), len(got)
			st, err := x.Read(t.Context(), q, func(row loader.Row) error {
				got = append(got, string(row.Key))
				return nil
			})
			testcheck.Must(t, err)
			if n := f["x"].scans.Load() - before; n > 16 || limit > 0 && len(got)-first > limit || pages > rows {
				t.Fatalf("limit %d: page %d has %d rows by %d scans of the index", limit, pages, len(got)-first, n)
			}
			if q.Page = st.Next; q.Page == "" {
				break
			}
		}
		want := make([]string, rows)
		for i := range want {
			want[i] = fmt.Sprintf("%04d", stale+i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

// TestEntriesThatChangeWithinAPage checks that a page that ends among the entries that were read continues after its last row, though entries before
// it come and go meanwhile.
func TestEntriesThatChangeWithinAPage(t *testing.T) {
	const stale, rows = 40, 5
	for name, change := range map[string]func(f fakeTables, n int){
		"entries come": func(f fakeTables, n int) { f.put("x", fmt.Sprintf("1|0039-%d", n), spec.RowCell, "gone") },
		"entries go": func(f fakeTables, _ int) {
			f["x"].rows = slices.DeleteFunc(f["x"].rows, func(r loader.Row) bool { return string(r.Key) == "1|0039" })
		},
	} {
		x := byDay(t, stale+rows)
		f := x.cluster.(fakeTables)
		f["t"].rows = f["t"].rows[stale:]
		var got []string
		for q, pages := (Query{Values: []string{"1"}, Limit: 1}), 0; pages <= rows; pages++ {
			st, err := x.Read(t.Context(), q, func(row loader.Row) error {
				got = append(got, string(row.Key))
				change(f, pages)
				return nil
			})
			testcheck.Must(t, err)
			if q.Page = st.Next; q.Page == "" {
				break
			}
		}
		if want := []string{"0040", "0041", "0042", "0043", "0044"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestIndexesThatCannotBeRead checks that they are refused, with their names.
func TestIndexesThatCannotBeRead(t *testing.T) {
	f := fakeTables{"t": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}, "x": {memoryTable: &memoryTable{keeps: true}, regions: splitAt(1)}}
	s := spec.Spec{Table: "t", Key: "id", Columns: []string{"id", "day"}, Tables: []spec.TableSpec{{Index: "by_day", Table: "x", Key: "day + id"}}}
	typed := s
	typed.Cells = []spec.CellSpec{{Column: "id"}, {Column: "day", Type: "int"}}
	for say, c := range map[string]struct {
		spec  spec.Spec
		name  string
		query Query
	}{
		`no index is called "day"`:               {s, "day", Query{}},
		`column "day" is not in`:                 {typed, "by_day", Query{}},
		"by the values of its query":             {s, "by_day", Query{From: []string{"1"}}},
		"a query key has the columns":            {s, "by_day", Query{Values: []string{"1", "2"}}},
		"not an index that bulkload has written": {s, "by_day", Query{Values: []string{"7"}}},
	} {
		f["x"].rows = nil
		f.put("x", "7a", "other", "")
		j, err := c.spec.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewIndex(f, j, c.name)
		if err == nil {
			_, err = x.Read(t.Context(), c.query, func(loader.Row) error { return nil })
		}
		if err == nil || !strings.Contains(err.Error(), say) || fail.KindOf(err) == fail.Unexpected {
			t.Errorf("%v, want %s", err, say)
		}
	}
}

// TestRowsOfAnIndexTakeMemory checks that rows by an index are counted by the columns that are asked for: fewer are read at a time if not all
// fit, or if they are large, and one that does not fit by itself ends the page.
func TestRowsOfAnIndexTakeMemory(t *testing.T) {
	x := byDay(t, 40)
	for i := range x.cluster.(fakeTables)["t"].rows {
		cells := &x.cluster.(fakeTables)["t"].rows[i].Cells
		*cells = append(*cells, loader.Cell{Family: []byte("f"), Qualifier: []byte("note"), Value: make([]byte, 10<<10)})
	}
	for _, c := range []struct {
		column string
		memory int64
		rows   int
		own    spec.Size // of the query, for the entries too
		most   int64     // that is taken
	}{{"", 100 << 10, 40, 0, 100 << 10}, {"", 11 << 10, 40, 0, 11 << 10}, {"", 9 << 10, 0, 0, 0}, {"id", 100 << 10, 40, 0, 100 << 10}, {"", 1 << 30, 40, 25 << 10, 50 << 10}} {
		var held atomic.Int64
		q := Query{Values: []string{"1"}, Limit: 40, RowBytes: 20 << 10, Memory: c.own, More: func(n int64) bool {
			if now := held.Add(n); now <= c.memory {
				return true
			}
			held.Add(-n)
			return false
		}}
		if c.column != "" {
			q.Columns = []string{c.column}
		}
		n := 0
		_, err := x.Read(t.Context(), q, count(&n))
		if n != c.rows || held.Load() > c.most || (err != nil) != (n < 40) || err != nil && !errors.Is(err, ErrMemory) {
			t.Errorf("column %q, memory %d: %d rows, %v, %d bytes", c.column, c.memory, n, err, held.Load())
		}
	}
}

// brokenRow is a table whose row 0003 fails. Rows after it are never answered, and those before it when a row after it is cancelled.
type brokenRow struct {
	fakeTables
	cancelled context.Context
	cancel    context.CancelFunc
}

func (b brokenRow) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	switch row := string(req.Row); {
	case row == "0003":
		return errScan
	case row > "0003":
		<-ctx.Done()
		b.cancel()
		return context.Cause(ctx)
	case row > "0000":
		<-b.cancelled.Done()
	}
	return b.fakeTables.Scan(ctx, req, fn)
}

// TestARowOfAnIndexFails checks that the read of the rows after a row that fails ends, and that all rows before it are given.
func TestARowOfAnIndexFails(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	x := byDay(t, 40)
	x.cluster = brokenRow{x.cluster.(fakeTables), cancelled, cancel}
	n := 0
	st, err := x.Read(ctx, Query{Values: []string{"1"}}, count(&n))
	if n != 3 || !errors.Is(err, errScan) || st.Next == "" || ctx.Err() != nil {
		t.Errorf("%d rows, page token %q, %v, %v", n, st.Next, err, ctx.Err())
	}
}
