package inspect_test

import (
	"math"
	"testing"

	"bulkload/internal/jobs/profiling"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// profiled compares the profile of a job's input with the rows that a reader
// returns.
func profiled(t testing.TB, j spec.Job, rows []map[string]any) {
	t.Helper()
	r, err := profiling.Run(t.Context(), jobtest.Env(t).Source, j, profiling.Options{Workers: 2, Expect: true})
	testcheck.Must(t, err)
	if r.Profile.Records != int64(len(rows)) {
		t.Fatalf("the profile has %d records, want %d", r.Profile.Records, len(rows))
	}
	for _, c := range r.Profile.Columns {
		none, different, shortest, longest := int64(0), map[string]bool{}, int64(math.MaxInt64), int64(0)
		for _, row := range rows {
			text, _ := row[c.Name].(string)
			if text == "" { // NULL, or empty
				none++
				continue
			}
			different[text] = true
			shortest, longest = min(shortest, int64(len(text))), max(longest, int64(len(text)))
		}
		if c.Nulls+c.Empty != none || !c.Estimated && c.Distinct != int64(len(different)) || longest > 0 && (c.Shortest != shortest || c.Longest != longest) {
			t.Errorf("column %s: %+v; want %d without a value, %d different, %d to %d bytes", c.Name, c, none, len(different), shortest, longest)
		}
	}
}
