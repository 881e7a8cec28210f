package compare

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
)

// randomCells returns cells of two families, at most one per column and timestamp.
func randomCells(r *rand.Rand) (cells []hfile.Cell) {
	for row := range r.IntN(40) {
		for _, column := range []string{"f:a", "f:b", "g:", "g:a"} {
			family, qualifier, _ := strings.Cut(column, ":")
			for stamp := int64(1); stamp < 5; stamp++ {
				if r.IntN(2) == 0 {
					cells = append(cells, testsnapshot.Put(fmt.Sprintf("r%02d", row), family, qualifier, stamp, string(rune('x'+r.IntN(3)))))
				}
			}
		}
	}
	return cells
}

// changed returns the cells with some of them changed, removed, or deleted by markers.
func changed(r *rand.Rand, cells []hfile.Cell, markers bool) (out []hfile.Cell) {
	of := 1 + r.IntN(20)
	for _, c := range cells {
		switch r.IntN(4 * of) {
		case 0:
			continue
		case 1:
			c.Value = []byte("y2")
		case 2:
			c.Timestamp += 10
		case 3:
			if markers {
				m := c
				m.Type, m.Value = []hfile.Type{hfile.Delete, hfile.DeleteColumn}[r.IntN(2)], nil
				out = append(out, m)
			}
		}
		out = append(out, c)
	}
	return out
}

// side writes cells to HFiles. Several of them may share rows.
func side(t *testing.T, r *rand.Rand, cells []hfile.Cell) *opened {
	t.Helper()
	fsys := hdfsio.NewMemory()
	var files []snapshot.LooseFile
	for len(cells) > 0 {
		n := 1 + r.IntN(len(cells))
		parts := map[string][]hfile.Cell{}
		for _, c := range cells[:n] {
			name := fmt.Sprint(string(c.Family), "/", r.IntN(2))
			parts[name] = append(parts[name], c)
		}
		cells = cells[n:]
		for name, part := range parts {
			name = fmt.Sprintf("/%d-%s", len(files), strings.ReplaceAll(name, "/", "-"))
			w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
			testcheck.Must(t, err)
			_, err = w.Write(testsnapshot.HFile(t, hfile.Options{Family: part[0].Family, BlockSize: 64}, part...))
			testcheck.Must(t, err)
			testcheck.Must(t, w.Finish())
			byRow := func(a, b hfile.Cell) int { return bytes.Compare(a.Row, b.Row) }
			files = append(files, snapshot.LooseFile{Family: string(part[0].Family), Path: name, First: slices.MinFunc(part, byRow).Row, Last: slices.MaxFunc(part, byRow).Row})
			info, err := fsys.Stat(t.Context(), name)
			testcheck.Must(t, err)
			files[len(files)-1].Size = info.Size()
		}
	}
	snap, err := snapshot.OfFiles(fsys, "/", files)
	testcheck.Must(t, err)
	return &opened{Side: Side{Dir: "/"}, snap: snap, as: "hfiles"}
}

// columnsOf returns the cells in a view: the values and timestamps of each column of each row, the newest first.
func columnsOf(cells []hfile.Cell, v view) map[string][]hfile.Cell {
	all := map[string][]hfile.Cell{}
	seen := testsnapshot.Seen(cells, 1<<30)
	for _, c := range cells {
		if _, ok := seen[testsnapshot.Key(&c)]; !ok || c.Type != hfile.Put || c.Timestamp < v.choice.Since || v.choice.Until > 0 && c.Timestamp >= v.choice.Until {
			continue
		}
		in := v.choice.Ranges
		if !v.choice.Has(c.Family, c.Qualifier) || in != nil && !slices.ContainsFunc(in, func(r keyrange.Range) bool { return r.Has(c.Row) }) {
			continue
		}
		key := fmt.Sprintf("%s/%s:%s", c.Row, c.Family, c.Qualifier)
		all[key] = append(all[key], c)
	}
	for key, list := range all {
		slices.SortFunc(list, func(a, b hfile.Cell) int { return int(b.Timestamp - a.Timestamp) })
		if v.versions > 0 {
			all[key] = list[:min(len(list), v.versions)]
		}
	}
	return all
}

// plainly counts differences with maps.
func plainly(r Request, a, b map[string][]hfile.Cell) (d result.ComparedRange) {
	type row struct{ a, b, wrong bool }
	rows := map[string]*row{}
	of := func(key string) *row {
		name, _, _ := strings.Cut(key, "/")
		if rows[name] == nil {
			rows[name] = &row{}
		}
		return rows[name]
	}
	keys := map[string]bool{}
	for key, list := range a {
		d.CellsA += int64(len(list))
		of(key).a, keys[key] = true, true
	}
	for key, list := range b {
		d.CellsB += int64(len(list))
		of(key).b, keys[key] = true, true
	}
	for key := range keys {
		before := d.Differences
		x, y := a[key], b[key]
		shown := func(c hfile.Cell) { d.ShownB += plainSum(map[string][]hfile.Cell{"": {c}}, true) }
		if r.Timestamps && r.Versions != 1 {
			for _, c := range x {
				at := slices.IndexFunc(y, func(o hfile.Cell) bool { return o.Timestamp == c.Timestamp })
				if at < 0 {
					d.CellsOnlyA++
				} else if !bytes.Equal(y[at].Value, c.Value) {
					d.Values++
					shown(y[at])
				}
			}
			for _, c := range y {
				if !slices.ContainsFunc(x, func(o hfile.Cell) bool { return o.Timestamp == c.Timestamp }) {
					d.CellsOnlyB++
					shown(c)
				}
			}
		} else {
			both := min(len(x), len(y))
			d.CellsOnlyA += int64(len(x) - both)
			d.CellsOnlyB += int64(len(y) - both)
			for _, c := range y[both:] {
				shown(c)
			}
			for i := range both {
				if value := !bytes.Equal(x[i].Value, y[i].Value); value || r.Timestamps && x[i].Timestamp != y[i].Timestamp {
					shown(y[i])
				}
				if !bytes.Equal(x[i].Value, y[i].Value) {
					d.Values++
				} else if r.Timestamps && x[i].Timestamp != y[i].Timestamp {
					d.Times++
				}
			}
		}
		if d.Differences != before {
			of(key).wrong = true
		}
	}
	for _, x := range rows {
		if x.a {
			d.RowsA++
		}
		if x.b {
			d.RowsB++
		}
		switch {
		case !x.wrong:
		case !x.b:
			d.OnlyA++
		case !x.a:
			d.OnlyB++
		default:
			d.Changed++
		}
	}
	return d
}

// plainSum returns the digest of cells, as docs/compare.md defines it.
func plainSum(columns map[string][]hfile.Cell, timestamps bool) (sum uint64) {
	for _, versions := range columns {
		for _, c := range versions {
			h := xxhash.New()
			for _, part := range [][]byte{c.Row, c.Family, c.Qualifier, c.Value} {
				var n [10]byte
				_, _ = h.Write(n[:binary.PutUvarint(n[:], uint64(len(part)))])
				_, _ = h.Write(part)
			}
			if timestamps {
				_ = binary.Write(h, binary.BigEndian, c.Timestamp)
			}
			sum += h.Sum64()
		}
	}
	return sum
}

// found compares range by range, as a job does.
func found(t *testing.T, req Request, a, b *opened, cuts [][]byte, dir string) (sum result.ComparedRange) {
	t.Helper()
	j := &run{req: req, a: a, b: b, now: time.UnixMilli(1000), dir: dir, options: Options{Differences: "yes", Digests: "yes"}.withDefaults(), ranges: within(cuts, req.Choice.Ranges)}
	for i := range j.ranges {
		f, err := j.compareRange(t.Context(), i)
		testcheck.Must(t, err)
		sum.RowsA += f.RowsA
		sum.RowsB += f.RowsB
		sum.CellsA += f.CellsA
		sum.CellsB += f.CellsB
		sum.SumA += f.SumA
		sum.SumB += f.SumB
		sum.ShownB += f.ShownB
		sum.Add(f.Differences)
	}
	return sum
}

// TestJoin checks that for any files, ranges and views the counts of differing rows and cells equal those computed with maps, and that as many rows
// are listed.
func TestJoin(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	for range 80 {
		cells := randomCells(r)
		x, y := cells, changed(r, cells, true)
		if r.IntN(2) == 0 {
			x, y = y, x
		}
		a, b := side(t, r, x), side(t, r, y)
		req := Request{Versions: r.IntN(3), Timestamps: r.IntN(2) == 0}
		switch r.IntN(3) {
		case 0:
			req.Choice.Columns = []choice.Column{{Family: "f", Qualifier: []byte("b")}, {Family: "g"}}
		case 1:
			req.Choice.Columns = []choice.Column{{Family: "g", Qualifier: []byte{}}}
		}
		if r.IntN(2) == 0 {
			req.Choice.Since, req.Choice.Until = int64(r.IntN(4)), int64(3+r.IntN(9))
		}
		if r.IntN(3) == 0 {
			req.Choice.Ranges = []keyrange.Range{{Start: []byte("r03"), Stop: []byte("r07")}, {Start: []byte("r10")}}
		}
		var cuts [][]byte
		for row := range 40 {
			if r.IntN(8) == 0 {
				cuts = append(cuts, fmt.Appendf(nil, "r%02d", row))
			}
		}
		v := req.view(time.Time{})
		want := plainly(req, columnsOf(x, v), columnsOf(y, v))
		want.SumA, want.SumB = plainSum(columnsOf(x, v), req.Timestamps), plainSum(columnsOf(y, v), req.Timestamps)
		dir := t.TempDir()
		if d := cmp.Diff(want, found(t, req, a, b, cuts, dir)); d != "" {
			t.Fatalf("%+v: %s", req, d)
		}
		rows, err := gather(dir, 100, filepath.Join(dir, "all"), 1000)
		if testcheck.Must(t, err); int64(rows) != want.Rows() {
			t.Fatalf("%d rows are listed, %+v", rows, want)
		}
	}
}

// TestMend checks that the loaded cells make B equal to A, in a few rounds.
func TestMend(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	for range 80 {
		x := randomCells(r)
		y := changed(r, x, false)
		if r.IntN(2) == 0 {
			x, y = y, x
		}
		req := Request{Versions: r.IntN(2), Timestamps: true, Repair: true}
		if req.Versions == 1 {
			req.Timestamps = r.IntN(2) == 0
		}
		v := req.view(time.Time{})
		for round := 0; ; round++ {
			a, b := side(t, r, x), side(t, r, y)
			if d := plainly(req, columnsOf(x, v), columnsOf(y, v)); d.Rows() == 0 {
				break
			} else if round == 5 {
				t.Fatalf("%+v: %+v", req, d)
			}
			y = append(y, mended(t, req, a, b)...)
			y = newest(y)
		}
	}
}

// TestMendUntil checks that a repair of cells before a time loads nothing of that time or later, where it would hide B's newer cells: a cell that a
// delete marker of B hides is not loaded over it, and the second comparison reports that the repair has not helped.
func TestMendUntil(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	old, later := testsnapshot.Put("r", "f", "q", 10, "old"), testsnapshot.Put("r", "f", "q", 30, "new")
	marker := hfile.Cell{Row: old.Row, Family: old.Family, Qualifier: old.Qualifier, Timestamp: 15, Type: hfile.DeleteColumn}
	for until, want := range map[int64]int64{20: 10, 0: 1000} {
		a, b := side(t, r, []hfile.Cell{old, later}), side(t, r, []hfile.Cell{old, marker, later})
		req := Request{Versions: 1, Repair: true, Choice: choice.Choice{Until: until}}
		if until == 0 { // the rows differ in their newest cell
			a, b = side(t, r, []hfile.Cell{old}), side(t, r, []hfile.Cell{old, marker})
		}
		p := &repair{req: req, found: &run{req: req, a: a, b: b, now: time.UnixMilli(1000), loaded: math.MaxInt64}}
		b.at = p.found.now
		for _, c := range cellsOf(t, p) {
			if c.Timestamp != want {
				t.Errorf("until %d: loaded at %d, want %d", until, c.Timestamp, want)
			}
		}
		found := result.Differences{OnlyA: 1, CellsOnlyA: 1}
		j := &run{req: req, result: &result.Comparison{Found: found}}
		if stuck := j.stuck([]round{{Repair: result.Repair{Found: found}}}); stuck != (until > 0) {
			t.Errorf("until %d: stuck %t", until, stuck)
		}
	}
}

// mended returns the cells of a repair, in order.
func mended(t *testing.T, req Request, a, b *opened) (cells []hfile.Cell) {
	t.Helper()
	return cellsOf(t, &repair{req: req, found: &run{req: req, a: a, b: b, now: time.UnixMilli(1000)}})
}

func cellsOf(t *testing.T, p *repair) (cells []hfile.Cell) {
	t.Helper()
	testcheck.Must(t, p.cells(context.WithoutCancel(t.Context()), &region{ranges: []keyrange.Range{{}}}, "", func(c *hfile.Cell) error {
		copied := *c
		for _, b := range []*[]byte{&copied.Row, &copied.Family, &copied.Qualifier, &copied.Value} {
			*b = bytes.Clone(*b)
		}
		cells = append(cells, copied)
		return nil
	}))
	w, err := hfile.NewWriter(io.Discard, hfile.Options{Family: []byte("f")})
	testcheck.Must(t, err)
	for i := range cells { // files keep references to them
		if string(cells[i].Family) == "f" {
			testcheck.Must(t, w.Append(&cells[i]))
		}
	}
	return cells
}

// newest keeps the last of the cells with the same column, timestamp and kind, as successive loads do.
func newest(cells []hfile.Cell) (kept []hfile.Cell) {
	at := map[string]int{}
	for _, c := range cells {
		key := fmt.Sprint(testsnapshot.Key(&c), c.Type)
		if i, ok := at[key]; ok {
			kept[i] = c
			continue
		}
		at[key] = len(kept)
		kept = append(kept, c)
	}
	return kept
}

// TestMemory checks that fewer ranges are read concurrently if memory is insufficient, and that a side that needs more memory is refused by name.
func TestMemory(t *testing.T) {
	t.Parallel()
	a := side(t, testcheck.Rand(t), []hfile.Cell{testsnapshot.Put("r", "f", "q", 1, "v")})
	each := a.room() + a.room()
	for _, c := range []struct {
		memory  int64
		ranges  int
		workers int
	}{{each * 10, 20, 4}, {each*3 - 1, 20, 2}, {each, 20, 1}, {each * 10, 0, 1}, {each - 1, 20, 0}} {
		j := &run{a: a, b: a, options: Options{WorkOptions: build.WorkOptions{Workers: 4, Memory: spec.Size(c.memory)}}}
		n, err := j.workers(c.ranges)
		if n != c.workers || (err != nil) != (c.workers == 0) || err != nil && !strings.Contains(err.Error(), "`memory` is ") {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
}
