package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bulkload/internal/model/keyrange"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

// memoryTable is a list of sorted rows that is scanned like a cluster.
type memoryTable struct {
	rows   []loader.Row
	active atomic.Int32 // running scans
	most   atomic.Int32
	scans  atomic.Int32
	fail   int32 // number of the scan that fails, from 1; 0 for none
	keeps  bool  // the bytes of rows stay unchanged, like those of a real scan
}

var errScan = errors.New("the scan broke")

func newMemoryTable(keys ...string) *memoryTable {
	t := &memoryTable{}
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		t.rows = append(t.rows, loader.Row{Key: []byte(k), Cells: []loader.Cell{{Family: []byte("f"), Qualifier: []byte("k"), Value: []byte(k)}}})
	}
	return t
}

func (t *memoryTable) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	now := t.active.Add(1)
	defer t.active.Add(-1)
	for most := t.most.Load(); now > most && !t.most.CompareAndSwap(most, now); most = t.most.Load() {
	}
	n := t.scans.Add(1)
	given := int64(0)
	if req.Row != nil {
		req.Start, req.Stop = req.Row, loader.After(req.Row)
	}
	if len(req.Start) > hfile.MaxRowLen || len(req.Stop) > hfile.MaxRowLen {
		return errors.New("a bound is longer than a row key") // HBase refuses it
	}
	for _, r := range t.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if bytes.Compare(r.Key, req.Start) < 0 || len(req.Stop) > 0 && bytes.Compare(r.Key, req.Stop) >= 0 {
			continue
		}
		if n == t.fail {
			return errScan
		}
		// the row is borrowed: it changes after the callback returns
		lent := loader.Row{Key: bytes.Clone(r.Key)}
		size := int64(len(r.Key))
		for _, c := range r.Cells {
			if len(req.Columns)+len(req.Families) > 0 && !slices.Contains(req.Families, string(c.Family)) && !slices.ContainsFunc(req.Columns, func(x loader.Column) bool {
				return x.Family == string(c.Family) && string(x.Qualifier) == string(c.Qualifier)
			}) {
				continue
			}
			c.Value = bytes.Clone(c.Value)
			lent.Cells = append(lent.Cells, c)
			if size += int64(len(c.Family) + len(c.Qualifier) + len(c.Value)); req.RowBytes > 0 && size > req.RowBytes {
				return fmt.Errorf("scan t: %w", &loader.RowTooLargeError{Key: bytes.Clone(r.Key), Most: req.RowBytes})
			}
		}
		if len(lent.Cells) == 0 {
			continue
		}
		if err := fn(lent); err != nil {
			return err
		}
		if !t.keeps {
			clear(lent.Key)
			clear(lent.Cells[0].Value)
		}
		clear(lent.Cells)
		if given++; given == req.MaxRows {
			return nil
		}
	}
	return nil
}

// TestMergePages compares pages of merged scans with all rows, sorted.
func TestMergePages(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		salts := rapid.SampledFrom([]int{1, 1, 2, 3, 10, 26}).Draw(t, "salts")
		var r keyrange.Rows
		head := func(i int) string {
			if salts == 1 {
				return ""
			}
			return string(rune('a' + i))
		}
		for i := range salts {
			r.Heads = append(r.Heads, []byte(head(i)))
		}
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return head(rapid.IntRange(0, salts-1).Draw(t, "salt")) + rapid.StringOfN(rapid.RuneFrom([]rune("xyz\x00")), 1, 4, -1).Draw(t, "key")
		}), 0, 80).Draw(t, "keys")
		table := newMemoryTable(keys...)
		bound := rapid.OneOf(rapid.Just(""), rapid.StringOfN(rapid.RuneFrom([]rune("xyz\x00")), 1, 3, -1))
		if lo := bound.Draw(t, "lo"); lo != "" {
			r.Lo = []byte(lo)
		}
		if hi := bound.Draw(t, "hi"); hi != "" && hi > string(r.Lo) {
			r.Hi = []byte(hi)
		}
		var keep func(loader.Row) bool
		odd := rapid.Bool().Draw(t, "odd rows only")
		if odd {
			keep = func(r loader.Row) bool { return len(r.Key)%2 == 1 }
		}
		type place struct{ key, head string }
		var want []place
		for _, row := range table.rows {
			k := string(row.Key[len(r.Heads[0]):])
			if (r.Lo == nil || k >= string(r.Lo)) && (r.Hi == nil || k < string(r.Hi)) && (!odd || len(row.Key)%2 == 1) {
				want = append(want, place{k, string(row.Key[:len(r.Heads[0])])})
			}
		}
		slices.SortFunc(want, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.head, b.head)) })
		memory := rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "memory")
		var got []place
		var after *position
		var lent *sync.Pool
		if table.keeps = rapid.Bool().Draw(t, "rows are borrowed"); table.keeps {
			lent = &sync.Pool{}
		}
		for {
			o := mergeOptions{limit: int64(rapid.IntRange(0, 12).Draw(t, "limit")), memory: memory, workers: 4, lent: lent, keep: keep, after: after}
			m := newMerge(table, loader.ScanRequest{}, r, o)
			var page []loader.Row
			if err := m.run(context.Background(), func(row loader.Row) error {
				if lent != nil {
					row = loader.Row{Key: bytes.Clone(row.Key), Cells: []loader.Cell{{Value: bytes.Clone(row.Cells[0].Value)}}}
				}
				page = append(page, row)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if n := table.active.Load(); n != 0 {
				t.Fatalf("%d scans run behind the end", n)
			}
			for _, row := range page { // after the end, so that borrowed rows would be detected
				if !bytes.Equal(row.Key, row.Cells[0].Value) {
					t.Fatalf("row %q has the value %q", row.Key, row.Cells[0].Value)
				}
				got = append(got, place{string(row.Key[len(r.Heads[0]):]), string(row.Key[:len(r.Heads[0])])})
			}
			if o.limit > 0 && int64(len(page)) > o.limit || o.limit == 0 && m.more || m.more && int64(len(page)) != o.limit {
				t.Fatalf("%d rows with limit %d, more %t", len(page), o.limit, m.more)
			}
			if !m.more {
				break
			}
			p, hash, err := parsePage(m.end.token(7))
			if err != nil || hash != 7 {
				t.Fatal(hash, err)
			}
			after = &p
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
		if table.most.Load() > 4 {
			t.Fatalf("%d scans at a time", table.most.Load())
		}
	})
}

// TestMergeLongestRows reads rows of the greatest length, in batches and pages of one row: none is read twice or left out, and no bound is longer.
func TestMergeLongestRows(t *testing.T) {
	long := strings.Repeat("x", hfile.MaxRowLen-1)
	keys := []string{"a" + long, "a" + long[1:], "a" + long[1:] + "\xff", "b" + long, "b\xff", strings.Repeat("\xff", hfile.MaxRowLen), "\xff" + long}
	odd := func(r loader.Row) bool { return len(r.Key)%2 == 1 }
	for _, heads := range [][]string{{""}, {"a", "b", "\xff"}} {
		var r keyrange.Rows
		for _, h := range heads {
			r.Heads = append(r.Heads, []byte(h))
		}
		for _, limit := range []int64{0, 1} {
			for _, keep := range []func(loader.Row) bool{nil, odd} {
				table := newMemoryTable(keys...)
				got := map[string]int{}
				o := mergeOptions{limit: limit, memory: 1, workers: 2, keep: keep}
				for range len(keys) + 1 {
					m := newMerge(table, loader.ScanRequest{}, r, o)
					testcheck.Must(t, m.run(t.Context(), func(row loader.Row) error { got[string(row.Key)]++; return nil }))
					if !m.more {
						break
					}
					o.after = &position{bytes.Clone(m.end.head), bytes.Clone(m.end.key)}
				}
				for _, k := range keys {
					if want := 1; keep != nil && len(k)%2 == 0 && got[k] != 0 || (keep == nil || len(k)%2 == 1) && got[k] != want {
						t.Errorf("heads %q, limit %d, filter %t: a row of %d bytes from %q is read %d times", heads, limit, keep != nil, len(k), k[:1], got[k])
					}
				}
			}
		}
	}
}

// TestMergeStops ends a merge early, by the caller and by a failing scan: the error is returned and no scan is left.
func TestMergeStops(t *testing.T) {
	var keys []string
	r := keyrange.Rows{}
	for i := range 20 {
		r.Heads = append(r.Heads, fmt.Appendf(nil, "%02d", i))
		for j := range 3000 {
			keys = append(keys, fmt.Sprintf("%02d%06d", i, j))
		}
	}
	stop := errors.New("enough")
	for _, fail := range []int32{0, 1, 15, 30} {
		table := newMemoryTable(keys...)
		table.fail = fail
		n := 0
		m := newMerge(table, loader.ScanRequest{}, r, mergeOptions{memory: 1, workers: 8})
		err := m.run(t.Context(), func(loader.Row) error {
			if n++; n == 20_000 {
				return stop
			}
			return nil
		})
		want := stop
		if fail > 0 {
			want = errScan
		}
		if !errors.Is(err, want) || table.active.Load() != 0 {
			t.Errorf("scan %d fails: %v after %d rows, %d scans run", fail, err, n, table.active.Load())
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	table := newMemoryTable(keys...)
	n := 0
	err := newMerge(table, loader.ScanRequest{}, r, mergeOptions{memory: 1, workers: 8}).run(ctx, func(loader.Row) error {
		if n++; n == 1000 {
			cancel(stop)
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) && !errors.Is(err, stop) || table.active.Load() != 0 { // the end of the context, or its cause
		t.Errorf("cancelled: %v after %d rows, %d scans run", err, n, table.active.Load())
	}
}

// TestMergeMemory checks the limit of held rows with long rows: for each of ten salts two batches, each at most one
// row above its size.
func TestMergeMemory(t *testing.T) {
	table := &memoryTable{}
	r := keyrange.Rows{}
	const rowBytes, memory = 8 << 10, 1 << 20
	for i := range 10 {
		r.Heads = append(r.Heads, fmt.Appendf(nil, "%d", i))
		for j := range 300 {
			table.rows = append(table.rows, loader.Row{Key: fmt.Appendf(nil, "%d%06d", i, j), Cells: []loader.Cell{{Value: make([]byte, rowBytes)}}})
		}
	}
	m := newMerge(table, loader.ScanRequest{}, r, mergeOptions{memory: memory, workers: 4})
	rows := 0
	if err := m.run(t.Context(), func(loader.Row) error {
		held := 0
		for _, s := range m.sources {
			held += len(s.rows) * rowBytes * 2 // the current batch, and as much in transit
		}
		if held > memory+2*10*2*rowBytes {
			return fmt.Errorf("%d bytes held", held)
		}
		rows++
		return nil
	}); err != nil || rows != 3000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestPageToken(t *testing.T) {
	for _, p := range []position{{}, {head: []byte("07"), key: []byte("20150524\x00\xff")}, {key: []byte("k")}} {
		got, hash, err := parsePage(p.token(1 << 63))
		if err != nil || hash != 1<<63 || !bytes.Equal(got.head, p.head) || !bytes.Equal(got.key, p.key) {
			t.Errorf("%q: %q, %d, %v", p, got, hash, err)
		}
	}
	for _, bad := range []string{"", "!", "AQ", "AgAAAAAAAAAAAA", "AQAAAAAAAAAABQ", "AQAAAAAAAAAA_____________w8"} {
		if _, _, err := parsePage(bad); !errors.Is(err, errPage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzPageToken(f *testing.F) {
	f.Add(position{head: []byte("1"), key: []byte("a")}.token(5))
	f.Fuzz(func(t *testing.T, s string) {
		p, hash, err := parsePage(s)
		if err != nil {
			return
		}
		if q, h, err := parsePage(p.token(hash)); err != nil || h != hash || !bytes.Equal(p.head, q.head) || !bytes.Equal(p.key, q.key) {
			t.Fatalf("%q: %q %q %v", s, p, q, err)
		}
	})
}

// TestRowsBeforeAnError checks that rows that a scan gives before it fails are returned, with a page token after them: at a row that is too large,
// and at any other error, with and without a filter, for one source and several.
func TestRowsBeforeAnError(t *testing.T) {
	for _, c := range []struct{ heads, broken, want int }{{1, 0, 5}, {3, 0, 15}, {3, 2, 17}} {
		for _, filtered := range []bool{false, true} {
			for _, limit := range []int64{0, 1, 3, 5, 6, 100} {
				table := newMemoryTable()
				r := keyrange.Rows{}
				for h := range c.heads {
					r.Heads = append(r.Heads, fmt.Appendf(nil, "%d", h))
					for i := range 6 {
						key := fmt.Sprintf("%d%d", h, i)
						table.rows = append(table.rows, loader.Row{Key: []byte(key), Cells: []loader.Cell{{Value: []byte(key)}}})
					}
				}
				table.rows[6*c.broken+5].Cells[0].Value = make([]byte, 1000) // the last row of this head
				o := mergeOptions{limit: limit, memory: 1 << 20, workers: 4}
				if filtered {
					o.keep = func(loader.Row) bool { return true }
				}
				rows := 0
				var err error
				for pages := 0; pages < 100; pages++ {
					m := newMerge(table, loader.ScanRequest{RowBytes: 100}, r, o)
					err = m.run(t.Context(), func(row loader.Row) error {
						if key := fmt.Sprintf("%d%d", rows%c.heads, rows/c.heads); string(row.Key) != key {
							t.Errorf("%+v: row %d is %s, want %s", c, rows, row.Key, key)
						}
						rows++
						return nil
					})
					if err != nil && m.given == 0 || err == nil && !m.more {
						break
					}
					o.after = &position{bytes.Clone(m.end.head), bytes.Clone(m.end.key)}
				}
				if !errors.Is(err, loader.ErrRowTooLarge) || rows != c.want || table.active.Load() != 0 {
					t.Errorf("%+v, filter %t, limit %d: %d rows before the error %v", c, filtered, limit, rows, err)
				}
			}
		}
	}
}
