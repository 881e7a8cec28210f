package newkeys

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"
)

// predict returns the prediction for a plan.
func (l *lab) predict(s *snapshot.Snapshot, p *Plan, o Options) (*estimate.Estimate, error) {
	l.t.Helper()
	return l.prediction(s, o).of(l.t, p, 0)
}

// of returns the estimate of a plan, or of the given number of regions.
func (d *Prediction) of(t testing.TB, p *Plan, regions int) (*estimate.Estimate, error) {
	t.Helper()
	var err error
	d.parts, d.Whole, err = d.choose(t.Context(), d.build.Exact)
	testcheck.Must(t, err)
	if err := d.look(t.Context(), p, regions); err != nil {
		return nil, err
	}
	return d.estimate(t.Context(), p, 0)
}

func (l *lab) prediction(s *snapshot.Snapshot, o Options) *Prediction {
	o.SpillDir = l.t.TempDir()
	return &Prediction{snap: s, options: o, env: jobtest.Env(l.t), place: placeBytes, places: maxPlaces}
}

// rowsOf returns the number of rows of a build in each region.
func (l *lab) rowsOf(s *snapshot.Snapshot, p *Plan) (rows []int64, cells int64) {
	l.t.Helper()
	m, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 2}})
	testcheck.Must(l.t, err)
	rows, seen := make([]int64, p.Ranges.Len()), map[string]bool{}
	for _, line := range l.cells(m, p, dir) {
		var key string
		if _, err := fmt.Sscanf(line, "%q", &key); err != nil {
			l.t.Fatal(err)
		}
		if !seen[key] {
			seen[key] = true
			rows[p.Ranges.Find([]byte(key))]++
		}
	}
	return rows, m.Digest.Cells
}

// TestPredict compares the estimate for random tables with their build.
func TestPredict(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := newLabOf(t, 1+r.IntN(3), []string{"c", "m", "t"}[:r.IntN(4)], "f", "g")
		l.random(r, 200+r.IntN(800))
		s := l.open()
		for _, key := range []string{"`f:id` + '-' + `$row`", "$row", "salt(id, 7) + id"} {
			p := l.plan(key, []string{"3", "8", "d"}[:r.IntN(4)]...)
			if r.IntN(2) == 0 {
				p.Choice.Since = 902
			}
			e, err := l.predict(s, p, Options{Options: build.Options{Workers: 1 + r.IntN(4)}})
			testcheck.Must(t, err)
			want, cells := l.rowsOf(s, p)
			all := int64(0)
			for i, n := range want {
				if e.Regions[i].Rows != n {
					t.Errorf("seed %d, key %s: region %d is to have %d rows, it has %d", seed, key, i, e.Regions[i].Rows, n)
				}
				all += n
			}
			if e.Rows != all || e.Cells != cells || !e.Exact || e.SampledRows != all || e.Spills || len(e.QueryColumns) != 1 {
				t.Errorf("seed %d, key %s: %+v, not %d rows and %d cells", seed, key, e, all, cells)
			}
		}
	}
}

// TestPredictSample predicts the files of more rows than fit in a sample, and that they spill.
func TestPredictSample(t *testing.T) {
	l := newLab(t, []string{"m"}, "f")
	var cells []hfile.Cell
	for i := range 40_000 {
		row := fmt.Sprintf("%c%06d", 'a'+i*26/40_000, i)
		cells = append(cells, testsnapshot.Put(row, "f", "id", 900, fmt.Sprintf("%08x", uint32(i)*2654435761)), testsnapshot.Put(row, "f", "v", 900, strings.Repeat(row, 10)))
	}
	l.load(cells...)
	s, p := l.open(), l.plan("id", "4", "8", "c")
	o := Options{Options: build.Options{Workers: 1, Memory: spec.Size(13 << 20)}}
	e, err := l.predict(s, p, o)
	testcheck.Must(t, err)
	m, _, err := l.build(s, p, o)
	testcheck.Must(t, err)
	if e.SampledRows == 0 || e.SampledRows > e.Rows/2 {
		t.Fatalf("the sample has %d of %d rows: nothing is estimated", e.SampledRows, e.Rows)
	}
	near := func(what string, got, want int64, most float64) {
		t.Helper()
		if math.Abs(float64(got-want)) > most*float64(want) {
			t.Errorf("%s: estimated %d, it is %d", what, got, want)
		}
	}
	near("bytes", e.HFileBytes, m.Bytes, 0.1)
	near("spill", e.SpillBytes, m.SpillBytes, 0.2)
	if !e.Spills || m.Runs == 0 || e.HFiles != m.HFiles || len(e.Regions) != len(m.Files) {
		t.Errorf("%+v, it was %+v", e, m)
	}
	for i, f := range m.Files {
		near(fmt.Sprintf("rows of region %d", i), e.Regions[i].Rows, f.Rows, 0)
		near(fmt.Sprintf("bytes of region %d", i), e.Regions[i].Bytes, f.Bytes, 0.1)
	}
}

// TestSampleIsTheSame checks that a sample does not depend on the order of rows: it has the first rows of each range of
// keys, with rows of one key together.
func TestSampleIsTheSame(t *testing.T) {
	r := testcheck.Rand(t)
	var rows []sampledRow
	for i := range 2000 {
		rows = append(rows, sampledRow{uint64(i), fmt.Appendf(nil, "key %04d", i*7919%1000), make([]byte, 1+r.IntN(100))})
	}
	ranges, err := partition.New([][]byte{[]byte("key 0300"), []byte("key 0800")})
	testcheck.Must(t, err)
	var want []sampledRow
	for i := range ranges.Len() {
		bytes := int64(0)
		for _, row := range slices.SortedFunc(slices.Values(rows), sampledRow.compare) {
			if ranges.Find(row.key) != i {
				continue
			}
			if bytes += row.size(); bytes <= 2000 {
				want = append(want, row)
			}
		}
	}
	for range 5 {
		s := newSample(ranges, 6000)
		for _, i := range r.Perm(len(rows)) {
			s.add(rows[i].seq, rows[i].key, rows[i].cells)
		}
		if got := slices.SortedFunc(slices.Values(s.all()), sampledRow.compare); !slices.EqualFunc(got, want, func(a, b sampledRow) bool { return a.compare(b) == 0 && len(a.cells) == len(b.cells) }) || len(got) < 60 {
			t.Errorf("%d rows, not %d", len(got), len(want))
		}
	}
}

// TestPredictLongRows checks the prediction for long rows: a sample has only a few of them.
func TestPredictLongRows(t *testing.T) {
	l := newLab(t, []string{"m"}, "f")
	r := rand.New(rand.NewPCG(3, 3))
	for file := range 3 {
		var cells []hfile.Cell
		for i := range 40 {
			value := make([]byte, 100_000+r.IntN(100_000))
			for j := range value {
				value[j] = byte(r.Uint64())
			}
			cells = append(cells, testsnapshot.Put(fmt.Sprintf("%c%04d%d", 'a'+i*26/40, i, file), "f", "v", 900, string(value)))
		}
		l.load(cells...)
	}
	s, p := l.open(), l.plan("substr($row, 1)", "0020")
	o := Options{Options: build.Options{Workers: 1, Memory: spec.Size(16 << 20)}}
	e, err := l.predict(s, p, o)
	testcheck.Must(t, err)
	m, _, err := l.build(s, p, o)
	testcheck.Must(t, err)
	if off := math.Abs(float64(e.HFileBytes)/float64(m.Bytes) - 1); off > 0.02 || e.SampledRows < 5 || e.SampledRows > 60 {
		t.Errorf("by %d rows %d bytes are estimated, there are %d", e.SampledRows, e.HFileBytes, m.Bytes)
	}
}

// TestPredictWarns checks the warnings about rows with the same key and rows without one, which fail a run.
func TestPredictWarns(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, []string{"m"}, "f")
	l.load(put("alpha", "f", "id", 1, "one"), put("beta", "f", "id", 1, "two"), put("zeta", "f", "id", 2, "one"), put("zz", "f", "v", 1, "no id"))
	s, p := l.open(), l.plan("id")
	if _, err := l.predict(s, p, Options{}); fail.KindOf(err) != fail.BadRows {
		t.Errorf("a row without a key: %v", err)
	}
	budget, err := source.NewBudget("1")
	testcheck.Must(t, err)
	e, err := l.predict(s, p, Options{Options: build.Options{Budget: budget}})
	testcheck.Must(t, err)
	var texts []string
	for _, c := range e.Warnings {
		texts = append(texts, c.Name+": "+c.Message.String())
	}
	if got := strings.Join(texts, "; "); got != "bad records: 1 record without a row (of all 3 rows); duplicate keys: 1 row with the key of another row (of all 3 rows); regions are shown with them" || e.BadRecords != 1 || e.Rows != 3 {
		t.Errorf("%s: %+v", got, e)
	}
	p.Choice.Since = 2 // a row without a cell that is late enough has the key of a row with one
	if e, err = l.predict(s, p, Options{Options: build.Options{Budget: budget}}); err != nil || e.Rows != 1 || len(e.Warnings) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	p.Choice.Since = 3
	if e, err = l.predict(s, p, Options{Options: build.Options{Budget: budget}}); err != nil || e.Rows != 0 {
		t.Errorf("no cell is late enough: %+v, %v", e, err)
	}
}

// TestSuggest finds split points for the requested number of regions, by the bytes of all cells.
func TestSuggest(t *testing.T) {
	l := newLab(t, []string{"m"}, "f", "g")
	var cells []hfile.Cell
	for i := range 4000 {
		row := fmt.Sprintf("%c%06d", 'a'+i*26/4000, i)
		id := fmt.Sprintf("%04d", i*7919%4000)
		cells = append(cells, testsnapshot.Put(row, "f", "id", 900, id))
		if id < "1000" {
			cells = append(cells, testsnapshot.Put(row, "g", "v", 900, strings.Repeat("v", 500)))
		}
	}
	l.load(cells...)
	s := l.open()
	for key, n := range map[string]int{"id": 5, "salt(id, 8) + id": 8, "salt(id, 16) + id": 4} {
		p := l.plan(key)
		e, err := l.prediction(s, Options{}).of(t, p, n)
		testcheck.Must(t, err)
		if len(e.Regions) != n {
			t.Errorf("key %s: %d regions at %s, not %d", key, len(e.Regions), e.Splits, n)
		}
		total := int64(0)
		for _, r := range e.Regions {
			total += r.Bytes
		}
		for i, r := range e.Regions {
			if fair := total / int64(n); r.Bytes < fair/2 || r.Bytes > 2*fair {
				t.Errorf("key %s: region %d has %d of %d bytes", key, i, r.Bytes, total)
			}
		}
	}
}
