package newkeys

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/keyrange"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// TestChoice checks, with random tables, that the chosen cells get keys that are made from the newest cells, chosen or not.
func TestChoice(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	for range 40 {
		const rows = 60
		versions := 1 + r.IntN(3)
		l := newLabOf(t, versions, []string{testsnapshot.RandomRow(20), testsnapshot.RandomRow(41)}[:r.IntN(3)], "f", "g")
		cells := testsnapshot.Random(r, rows, "f", "g")
		half := r.IntN(len(cells))
		l.load(cells[:half]...)
		l.load(cells[half:]...)
		p := l.plan("`f:id`", []string{"4", "8"}[:r.IntN(3)]...)
		p.Choice, p.Versions = testsnapshot.RandomChoice(r, rows, "f", "g"), r.IntN(3)
		s := l.open()
		m, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 1 + r.IntN(3)}})
		testcheck.Must(t, err)
		want, in, empty := moved(cells, versions, p)
		if got := l.cells(m, p, dir); !slices.Equal(got, want) || m.Records != int64(in) || m.NoCells != int64(empty) || m.Digest.Cells != int64(len(want)) {
			t.Fatalf("%+v, versions %d of %d: %d cells of %d rows, %d without; want %d of %d, %d without\n%s\nwant\n%s", p.Choice, p.Versions, versions, len(got), m.Records, m.NoCells, len(want), in, empty,
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		splits, err := Splits(t.Context(), s, p.Key, nil, p.Now, p.Choice.Ranges, Options{})
		if testcheck.Must(t, err); len(splits) >= len(s.Regions) {
			t.Fatalf("%d split points for %d regions", len(splits), len(s.Regions))
		}
	}
}

// moved returns the lines of cells that a plan moves, computed plainly, the number of rows that it reads, and the number of
// these without chosen cells.
func moved(cells []hfile.Cell, versions int, p *Plan) (lines []string, rows, empty int) {
	key := map[string]string{}
	at := map[string]int64{}
	newest := testsnapshot.Seen(cells, 1)
	inRanges := p.Choice
	inRanges.Columns, inRanges.Since, inRanges.Until = nil, 0, 0
	reads := map[string]bool{}
	asked := versions
	if p.Versions > 0 {
		asked = min(asked, p.Versions)
	}
	chosen := testsnapshot.Chosen(cells, asked, p.Choice)
	in := testsnapshot.Chosen(cells, math.MaxInt32, inRanges)
	has := map[string]bool{}
	for _, c := range cells {
		row, name := string(c.Row), testsnapshot.Key(&c)
		if _, ok := newest[name]; ok && c.Type == hfile.Put && string(c.Qualifier) == "id" && c.Timestamp > at[row] {
			key[row], at[row] = string(c.Value), c.Timestamp
		}
		if _, ok := in[name]; ok && c.Type == hfile.Put {
			reads[row] = true
		}
	}
	for _, c := range cells {
		if _, ok := chosen[testsnapshot.Key(&c)]; ok && c.Type == hfile.Put {
			has[string(c.Row)] = true
			lines = append(lines, line([]byte(key[string(c.Row)]), &c))
		}
	}
	slices.Sort(lines)
	return lines, len(reads), len(reads) - len(has)
}

// TestChoiceOfParts checks that a plan of a large table reads only parts that have chosen rows.
func TestChoiceOfParts(t *testing.T) {
	l := newLab(t, []string{testsnapshot.RandomRow(500)}, "f")
	var cells []hfile.Cell
	for i := range 1000 {
		cells = append(cells, testsnapshot.Put(testsnapshot.RandomRow(i), "f", "id", 5, fmt.Sprintf("%04x%s", uint16(i*40503), strings.Repeat("x", 500))))
	}
	l.load(cells...)
	d := &Prediction{snap: l.open(), place: 4 << 10, places: 2}
	all, whole, err := d.choose(t.Context(), false)
	if testcheck.Must(t, err); whole || len(all) != 2 {
		t.Fatalf("%d parts, all of them %t", len(all), whole)
	}
	p := l.plan("id")
	p.Choice.Ranges = append(p.Choice.Ranges, rangeOf(700, 900))
	d.ranges, d.places = p.Choice.Ranges, 3
	for range 4 {
		parts, _, err := d.choose(t.Context(), false)
		testcheck.Must(t, err)
		for _, x := range parts {
			if x.region != 1 || string(x.stop) != "" && string(x.stop) <= testsnapshot.RandomRow(700) || string(x.start) >= testsnapshot.RandomRow(900) {
				t.Errorf("a part of region %d from %q to %q", x.region, x.start, x.stop)
			}
		}
	}
}

func rangeOf(from, to int) keyrange.Range {
	return keyrange.Range{Start: []byte(testsnapshot.RandomRow(from)), Stop: []byte(testsnapshot.RandomRow(to))}
}
