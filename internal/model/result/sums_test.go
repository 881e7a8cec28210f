package result

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// targetsOf returns targets of a job. All but the first are indexes.
func targetsOf(names ...string) (targets []spec.Target) {
	for i, name := range names {
		target := spec.Target{}
		target.Table = name
		if i > 0 {
			target.Index = "index " + name
		}
		targets = append(targets, target)
	}
	return targets
}

// drawVerification returns a random verification.
func drawVerification(r *rand.Rand) *Verification {
	digest := func() manifest.Digest {
		return manifest.Digest{Rows: r.Int64N(1000), Cells: r.Int64N(1000), Sum: r.Uint64()}
	}
	v := &Verification{Mode: "full", Want: digest(), Got: digest(), Sampled: r.IntN(9), Expired: r.IntN(5) == 0, Masked: Masked{r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(9)}}
	if r.IntN(2) == 0 {
		v.Files = &StoreFiles{r.IntN(9), r.Int64N(9), r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(9)}
	}
	return v
}

// sumOfNumbers returns the sum of all numbers in a value's fields, plus the number of true values.
func sumOfNumbers(v reflect.Value) (sum uint64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return sumOfNumbers(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sum += sumOfNumbers(v.Field(i))
		}
	case reflect.Int, reflect.Int64:
		return uint64(v.Int())
	case reflect.Uint64:
		return v.Uint()
	}
	return sum
}

// TestSumOfVerifications checks that a sum has the counts of each part, in any order, and that the parts are not modified.
func TestSumOfVerifications(t *testing.T) {
	r := testcheck.Rand(t)
	for range 300 {
		parts := make([]*Verification, 1+r.IntN(6))
		var want uint64
		expired, files := false, false
		for i := range parts {
			parts[i] = drawVerification(r)
			want += sumOfNumbers(reflect.ValueOf(parts[i]))
			expired, files = expired || parts[i].Expired, files || parts[i].Files != nil
		}
		first := *parts[0]
		var there, back *Verification
		for i := range parts {
			there, back = there.Add(parts[i]), back.Add(parts[len(parts)-1-i])
		}
		if d := cmp.Diff(there, back); d != "" {
			t.Fatalf("the other way round (-there +back)\n%s", d)
		}
		if got := sumOfNumbers(reflect.ValueOf(there)); got != want || there.Expired != expired || (there.Files != nil) != files || there.Mode != "full" {
			t.Fatalf("%+v with files %+v: %d, want %d", there, there.Files, got, want)
		}
		if d := cmp.Diff(&first, parts[0]); d != "" {
			t.Fatalf("the first part has changed (-was +is)\n%s", d)
		}
	}
}

// TestNoFiles checks that the sum with a part without files has the other part's files.
func TestNoFiles(t *testing.T) {
	s := &StoreFiles{Files: 3, Bytes: 1}
	var none *StoreFiles
	if none.Add(nil) != nil || none.Add(s) != s || s.Add(nil) != s {
		t.Error("no files are some")
	}
	if got := s.Add(&StoreFiles{1, 2, 3, 4, 5, 6}); *got != (StoreFiles{4, 3, 3, 4, 5, 6}) || s.Files != 3 {
		t.Errorf("%+v and %+v", got, s)
	}
}

// TestMasked checks that a row counts once, whatever hides its cells, and that only rows with hidden cells count and cause a warning.
func TestMasked(t *testing.T) {
	var m Masked
	for _, h := range []loader.Hidden{{}, {Newer: 3}, {Deleted: 2}, {Newer: 1, Deleted: 1}, {}} {
		m.AddRow(h)
	}
	if m != (Masked{Rows: 3, Newer: 4, Deleted: 3}) {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct {
		masked Masked
		warned int
	}{{Masked{}, 0}, {m, 1}} {
		warned := 0
		c.masked.Warn(progress.Events{OnWarn: func(string, ...any) { warned++ }}, "full")
		if warned != c.warned {
			t.Errorf("%+v: %d warnings", c.masked, warned)
		}
	}
}

// TestSumOfSurveys checks that the survey of a table has the totals of all its parts, and their regions in order.
func TestSumOfSurveys(t *testing.T) {
	part := func(n int64, region string) *Survey {
		d := manifest.Digest{Rows: n, Cells: 2 * n, Sum: uint64(n)}
		return &Survey{Load: d, Rest: d, Versions: d, Foreign: n, Marked: 2 * n, RowsAdded: 3 * n, RowsOverwritten: 4 * n, CellsAdded: 5 * n, CellsOverwritten: 6 * n, CellsUnchanged: 7 * n,
			CellsSeen: 8 * n, RowsRestored: 9 * n, CellsRestored: 10 * n, RowsGone: 11 * n, Regions: []SurveyRegion{{Region: region}},
			Families: []SurveyFamily{{Family: "f", Versions: 1, Rows: n, Cells: n, Compacted: n, Deletes: n}, {Family: "g", Versions: 3, KeepDeleted: true, Rows: 2 * n, Cells: 2 * n, Compacted: 2 * n, Deletes: 2 * n}}}
	}
	sum := part(1, "a")
	sum.Add(part(10, "b"))
	sum.Add(part(100, "c"))
	want := part(111, "a")
	want.Regions = []SurveyRegion{{Region: "a"}, {Region: "b"}, {Region: "c"}}
	if d := cmp.Diff(want, sum); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestForPeople checks the readable forms of the effect on the rows before the load.
func TestForPeople(t *testing.T) {
	if s := (&Replace{Rows: 1000, Deleted: 20, Changed: 30}).String(); s != "20 of the 1000 rows before are deleted, 30 have lost columns" {
		t.Errorf("%q", s)
	}
	if s := (&Before{Rows: 1000, Missing: 20, Changed: 30}).String(); s != "20 of the 1000 rows before are not in the export, 30 have lost columns" {
		t.Errorf("%q", s)
	}
}
