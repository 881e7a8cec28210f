package tablesource

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestRowOrder accepts rows in the order of a scan, and refuses a repeated row, rows out of order or of another part, and
// repeated columns or columns out of order.
func TestRowOrder(t *testing.T) {
	cell := func(family, qualifier string) loader.Cell {
		return loader.Cell{Family: []byte(family), Qualifier: []byte(qualifier), Type: hfile.Put}
	}
	row := func(key string, cells ...loader.Cell) loader.Row { return loader.Row{Key: []byte(key), Cells: cells} }
	marker := cell("f", "a")
	marker.Type = hfile.Delete
	at := func(qualifier string, ts int64) loader.Cell {
		c := cell("f", qualifier)
		c.Timestamp = ts
		return c
	}
	for name, c := range map[string]struct {
		rows []loader.Row
		good bool
	}{
		"in order":                  {[]loader.Row{row("b", cell("f", "z"), cell("g", "a")), row("b\x00", cell("f", "")), row("c", cell("f", "a"), cell("f", "a\x00"))}, true},
		"a row twice":               {[]loader.Row{row("b"), row("b")}, false},
		"a row before":              {[]loader.Row{row("c"), row("b")}, false},
		"another part":              {[]loader.Row{row("d")}, false},
		"the part before":           {[]loader.Row{row("a")}, false},
		"a column twice":            {[]loader.Row{row("b", cell("f", "a"), cell("f", "a"))}, false},
		"a column before":           {[]loader.Row{row("b", cell("f", "b"), cell("f", "a"))}, false},
		"a family before":           {[]loader.Row{row("b", cell("g", "a"), cell("f", "b"))}, false},
		"versions":                  {[]loader.Row{row("b", at("a", 9), at("a", 7), at("b", 8))}, true},
		"versions upside down":      {[]loader.Row{row("b", at("a", 7), at("a", 9))}, false},
		"versions of one time":      {[]loader.Row{row("b", at("a", 7), at("a", 7))}, false},
		"versions, a column before": {[]loader.Row{row("b", at("b", 9), at("a", 7))}, false},
		"a marker":                  {[]loader.Row{row("b", marker)}, false},
	} {
		o := rowOrder{start: []byte("b"), stop: []byte("d"), versions: strings.HasPrefix(name, "versions")}
		var err error
		for _, r := range c.rows {
			if err = o.check(r); err != nil {
				break
			}
		}
		if c.good != (err == nil) || err != nil && !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBatchesWalked passes rows on in batches of any size and iterates over their cells: all are returned in order, and the first
// cell of each row is marked.
func TestBatchesWalked(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		sc := &Scan{cancel: func() {}, full: make(chan *batch, 100), free: make(chan *batch, 100)}
		var want []int // the row of each cell
		b, rows := &batch{}, 0
		for range random.IntN(30) {
			var r loader.Row
			r.Key = []byte{byte(rows)}
			for q := range 1 + random.IntN(3) {
				r.Cells = append(r.Cells, loader.Cell{Qualifier: []byte{byte(q)}})
				want = append(want, rows)
			}
			rows++
			if b.add(r); random.IntN(3) == 0 {
				sc.full <- b
				b = &batch{}
			}
		}
		if len(b.rows) > 0 {
			sc.full <- b
		}
		lost := errors.New("lost")
		if random.IntN(2) == 0 {
			sc.failed = lost
		}
		close(sc.full)
		var got []int
		fresh := 0
		for sc.Next() {
			got = append(got, int(sc.Cell().Row[0]))
			if sc.NewRow() {
				fresh++
			}
			if first := sc.Cell().Qualifier[0] == 0; first != sc.NewRow() {
				t.Fatalf("cell %d: new row %t", len(got), sc.NewRow())
			}
		}
		if !slices.Equal(got, want) || fresh != rows || !errors.Is(sc.Err(), sc.failed) || sc.Next() {
			t.Fatalf("%v, want %v; %d rows of %d; %v", got, want, fresh, rows, sc.Err())
		}
	}
}

// TestCheckReadBy checks that ways that the inputs do not support are refused.
func TestCheckReadBy(t *testing.T) {
	for _, c := range []struct {
		by     ReadBy
		inputs []string
		good   bool
	}{
		{"", []string{"a.csv"}, true}, {ByFiles, nil, true}, {ByScan, []string{"hbase:t"}, true}, {ByAuto, []string{"hbase:t", "snapshot:s", "a.csv"}, true},
		{ByScan, []string{"a.csv"}, false}, {ByAuto, []string{"a.csv"}, false}, {ByScan, []string{"snapshot:s"}, false}, {ByScan, []string{"hbase:t", "snapshot:s"}, false},
		{"rpc", []string{"hbase:t"}, false},
	} {
		if err := CheckReadBy(c.inputs, c.by); c.good != (err == nil) || err != nil && fail.KindOf(err) != fail.Config {
			t.Errorf("%q by %q: %v", c.inputs, c.by, err)
		}
	}
}
