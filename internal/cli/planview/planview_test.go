package planview

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"

	"pgregory.net/rapid"
)

// estimateOf returns an estimate with the given rows in its regions.
func estimateOf(rows []int64, start func(i int) string) *estimate.Estimate {
	e := &estimate.Estimate{Schema: 1, Key: `md5hex(a) + '<&"'`, Table: "t<&>", Files: 1, Places: 1}
	for _, n := range rows {
		e.Rows += n
	}
	for i, n := range rows {
		r := estimate.RegionEstimate{Rows: n, Bytes: 100 * n, Share: float64(n) / float64(max(e.Rows, 1))}
		if i > 0 {
			r.Start = rowkey.Key(start(i))
		}
		e.Regions = append(e.Regions, r)
	}
	return e
}

// TestSVG checks that a picture is well-formed whatever the keys are, that every region is in a bar, and that nothing
// is drawn outside of it.
func TestSVG(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 2000).Draw(t, "rows")
		text := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "start")
		e := estimateOf(rows, func(int) string { return string(text) })
		tables := rapid.IntRange(0, 3).Draw(t, "further tables")
		for range tables {
			e.Tables = append(e.Tables, estimateOf(rows, func(int) string { return string(text) }))
		}
		var b strings.Builder
		if err := drawSVG(&b, e); err != nil {
			t.Fatal(err)
		}
		bars, top, height := 0, 0.0, 0.0
		d := xml.NewDecoder(strings.NewReader(b.String()))
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			if move := at["transform"]; move != "" {
				if _, err := fmt.Sscanf(move, "translate(0 %g)", &top); err != nil {
					t.Fatal(err)
				}
			}
			if e.Name.Local == "svg" {
				if _, err := fmt.Sscan(at["height"], &height); err != nil {
					t.Fatal(err)
				}
			}
			if e.Name.Local == "rect" && at["class"] != "paper" {
				bars++
				var x, y, width float64
				if _, err := fmt.Sscan(at["x"]+" "+at["y"]+" "+at["width"], &x, &y, &width); err != nil || x < 0 || width < 0 || x+width > svgWidth || math.IsNaN(width) || top+y+svgStep > height {
					t.Fatalf("bar %v", at)
				}
			}
		}
		if n := bars / (1 + tables); bars%(1+tables) != 0 || n == 0 || n > svgLines || n > len(rows) {
			t.Fatalf("%d bars for %d regions of %d tables", bars, len(rows), 1+tables)
		}
	})
}

// TestShareLines checks that lines cover all regions once.
func TestShareLines(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 500).Draw(t, "rows")
		most := rapid.IntRange(1, 60).Draw(t, "lines")
		e := estimateOf(rows, func(i int) string { return fmt.Sprint(i) })
		lines := shareLines(e.Regions, most)
		if len(lines) > most {
			t.Fatalf("%d lines, not %d", len(lines), most)
		}
		next, sum := 1, int64(0)
		for _, l := range lines {
			if l.first != next || l.last < l.first || l.most > l.share+1e-9 {
				t.Fatalf("line %+v, where region %d should come", l, next)
			}
			next, sum = l.last+1, sum+l.rows
		}
		if next != len(rows)+1 || sum != e.Rows {
			t.Fatalf("lines go up to region %d of %d, with %d of %d rows", next-1, len(rows), sum, e.Rows)
		}
	})
}

// TestRegionsFit checks that the table is no wider than the terminal.
func TestRegionsFit(t *testing.T) {
	for _, regions := range []int{1, 10, 40, 41, 1000} {
		rows := make([]int64, regions)
		for i := range rows {
			rows[i] = int64(i * 1000)
		}
		for _, width := range []int{70, 80, 100, 250} {
			var b strings.Builder
			printRegions(&b, estimateOf(rows, func(i int) string { return fmt.Sprintf("%04d", i) }), width)
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			widest := 0
			for _, l := range lines {
				widest = max(widest, utf8.RuneCountInString(l))
			}
			if widest > width || regions > 1 && widest < width-1 || len(lines) > 1+textLines {
				t.Errorf("%d regions in %d columns: %d lines of %d", regions, width, len(lines), widest)
			}
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		part float64
		want string
	}{{0, ""}, {0.001, "▏"}, {0.5, "██"}, {0.5625, "██▎"}, {1, "████"}} {
		if got := bar(c.part, 4); got != c.want {
			t.Errorf("%v is %q, not %q", c.part, got, c.want)
		}
	}
}
