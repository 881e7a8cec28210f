package newkeys

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// sorted returns a table whose rows are sorted by the date with which its new keys begin: the worst order for a sample, since neighboring
// rows add little information. Rows of later dates are longer.
func sorted(t *testing.T, rows int) *lab {
	l := newLab(t, []string{"2003", "2017", "2018"}, "f")
	var cells []hfile.Cell
	for i := range rows {
		year := 2000 + i*20/rows
		row := fmt.Sprintf("%d-%06d", year, i)
		cells = append(cells, testsnapshot.Put(row, "f", "id", 900, fmt.Sprintf("%08x", uint32(i)*2654435761)), testsnapshot.Put(row, "f", "year", 900, fmt.Sprint(year)),
			testsnapshot.Put(row, "f", "v", 900, strings.Repeat(fmt.Sprint(i*i), 1+(year-2000)/4)))
	}
	l.load(cells...)
	return l
}

// TestPlaces predicts from a tenth of the rows, in places all over the table, and from all rows with exact.
func TestPlaces(t *testing.T) {
	const rows = 60_000
	l := sorted(t, rows)
	s, p := l.open(), l.plan("year + '-' + id", "2004", "2008", "2012", "2016")
	o := Options{Options: build.Options{Workers: 2}}
	m, _, err := l.build(s, p, o)
	testcheck.Must(t, err)
	near := func(what string, got, want int64, most float64) {
		t.Helper()
		if math.Abs(float64(got-want)) > most*float64(want) {
			t.Errorf("%s: estimated %d, it is %d", what, got, want)
		}
	}
	for _, exact := range []bool{false, true} {
		d := l.prediction(s, o)
		d.place, d.places, d.build.Exact = 4<<10, 40, exact
		e, err := d.of(t, p, 0)
		testcheck.Must(t, err)
		bound, counted := 0.12, int64(rows)
		if exact {
			bound = 0
		} else if counted = e.CountedRows; counted > rows/5 || counted < rows/50 || e.CountPlaces != 40 {
			t.Fatalf("%d rows of %d places are counted: nothing is estimated", counted, e.CountPlaces)
		}
		if e.Exact != exact || e.CountedRows != counted || len(e.Regions) != len(m.Files) {
			t.Errorf("exact is %t, %d rows are counted", e.Exact, e.CountedRows)
		}
		near("rows", e.Rows, m.Digest.Rows, bound)
		near("cells", e.Cells, m.Digest.Cells, bound)
		near("bytes", e.HFileBytes, m.Bytes, 0.15)
		for i, f := range m.Files {
			near(fmt.Sprintf("rows of region %d", i), e.Regions[i].Rows, f.Rows, 2*bound)
		}
	}
}

// TestPlacesCutTheTable checks that parts are in the order of keys, do not overlap, and together represent all rows.
func TestPlacesCutTheTable(t *testing.T) {
	l := sorted(t, 20_000)
	s := l.open()
	for _, places := range []int{1, 2, 7, 30} {
		d := l.prediction(s, Options{})
		d.place, d.places = 4<<10, places
		parts, whole, err := d.choose(t.Context(), false)
		testcheck.Must(t, err)
		if whole || len(parts) != places {
			t.Fatalf("%d parts, not %d", len(parts), places)
		}
		stand := 0
		for i, p := range parts {
			stand += p.stands
			if i == 0 {
				continue
			}
			if q := parts[i-1]; q.region > p.region || q.region == p.region && (p.start == nil || q.stop == nil || bytes.Compare(q.stop, p.start) > 0) {
				t.Errorf("part %+v follows %+v", p, q)
			}
		}
		all := 0
		for i, r := range s.Regions {
			cuts, err := s.Cuts(t.Context(), i, int((r.Bytes+4<<10-1)/(4<<10)))
			testcheck.Must(t, err)
			all += 1 + len(cuts)
		}
		if stand != all || all < 60 {
			t.Errorf("%d places stand for %d of %d parts", places, stand, all)
		}
	}
}

// TestSuggestByPlaces finds split points from a part of the rows.
func TestSuggestByPlaces(t *testing.T) {
	l := sorted(t, 60_000)
	s, p := l.open(), l.plan("id")
	d := l.prediction(s, Options{})
	d.place, d.places = 4<<10, 40
	_, err := d.of(t, p, 5)
	testcheck.Must(t, err)
	m, _, err := l.build(s, p, Options{})
	testcheck.Must(t, err)
	if len(m.Files) != 5 {
		t.Fatalf("%d files", len(m.Files))
	}
	for _, f := range m.Files {
		if fair := m.Bytes / 5; f.Bytes < fair*3/4 || f.Bytes > fair*5/4 {
			t.Errorf("region %d has %d of %d bytes", f.Region, f.Bytes, m.Bytes)
		}
	}
}

// TestPredictNeighbours predicts rows that under the new keys share values only with their neighbors: a sample of single rows would compress much
// worse.
func TestPredictNeighbours(t *testing.T) {
	const groups, each = 2000, 20
	l, r := newLab(t, []string{"m"}, "f"), rand.New(rand.NewPCG(5, 5))
	values := make([]string, groups)
	for i := range values {
		for range 12 {
			values[i] += fmt.Sprintf("%016x", r.Uint64())
		}
	}
	var cells []hfile.Cell
	for i := range groups * each {
		row, group := fmt.Sprintf("%c%06d", 'a'+i*26/(groups*each), i), i%groups
		cells = append(cells, testsnapshot.Put(row, "f", "group", 900, fmt.Sprintf("%04d", group)), testsnapshot.Put(row, "f", "v", 900, values[group]))
	}
	l.load(cells...)
	s, p := l.open(), l.plan("group + `$row`", "1000")
	p.Families[0].Compression = hfile.CompressionSnappy
	o := Options{Options: build.Options{Workers: 1, Memory: spec.Size(16 << 20)}}
	e, err := l.predict(s, p, o)
	testcheck.Must(t, err)
	m, _, err := l.build(s, p, o)
	testcheck.Must(t, err)
	if off := math.Abs(float64(e.HFileBytes)/float64(m.Bytes) - 1); off > 0.1 || e.SampledRows > groups*each/2 {
		t.Errorf("by %d rows %d bytes are estimated, there are %d", e.SampledRows, e.HFileBytes, m.Bytes)
	}
}
