package expectation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// pandasReads answers each line, an expectation and the values of its column, with the number of unexpected values, the number of checked values, and
// whether the expectation is met.
const pandasReads = `
import sys, json, pandas as pd
now = pd.Timestamp("2026-11-26T20:00:00")
for line in sys.stdin:
    q = json.loads(line)
    a, all = q["asked"], pd.Series(q["values"], dtype="string")
    s, met = all.dropna(), None
    if "nulls" in a:
        bad, s = all.isna(), all
        most = float(a["nulls"].rstrip("%"))
        met = bad.mean() * 100 <= most + 1e-9 if "%" in a["nulls"] and len(all) else bad.sum() <= most
    elif "values" in a: bad = ~s.isin(a["values"])
    elif "matches" in a: bad = ~s.str.fullmatch(a["matches"])
    elif "min" in a: bad = pd.to_numeric(s) < float(a["min"])
    elif "max" in a: bad = pd.to_numeric(s) > float(a["max"])
    elif "unique" in a: bad = s.duplicated()
    else:
        dates = pd.to_datetime(s, format="%Y-%m-%d", errors="coerce")
        bad = dates.isna()
        met = bool(not bad.any() and len(s) and now - dates.max() <= pd.Timedelta(a["newest_within"]))
    met = not bad.any() if met is None else met
    print(json.dumps([int(bad.sum()), len(s), bool(met)]))
`

// TestPandas compares the results for random columns with those of pandas. It needs BULKLOAD_TEST_PANDAS=1, and in BULKLOAD_DIALECTS_PYTHON a python3
// with pandas, which scripts/test-dialects installs.
func TestPandas(t *testing.T) {
	if os.Getenv("BULKLOAD_TEST_PANDAS") == "" {
		t.Skip("BULKLOAD_TEST_PANDAS=1 runs it, with pandas in BULKLOAD_DIALECTS_PYTHON")
	}
	r := testcheck.Rand(t)
	var in bytes.Buffer
	var asked, ours []string
	for range 3000 {
		a := randomAsked(r, "a")
		kinds := [][]string{{"A", "B", "AB", "b", "x", "1", ""}, {"2026-11-26", "2026-11-25", "2026-11-23", "2026-10-01"}}
		if a.Min+a.Max != "" {
			if a.Min, a.Max = "", "17.25"; r.IntN(2) == 0 { // texts that both read as numbers
				a.Min, a.Max = "-3", ""
			}
			kinds = [][]string{{"-3.5", "-3", "-03.00", "0", "17.25", "17.26", "1e1", "1e2"}}
		}
		if r.IntN(9) == 0 && a.NewestWithin != "" {
			kinds = append(kinds, []string{"2026-02-30", "no date"})
		}
		words := kinds[r.IntN(len(kinds))]
		records := make([][3]value, r.IntN(30))
		values := make([]value, len(records))
		for i := range records {
			if r.IntN(6) > 0 {
				values[i] = &words[r.IntN(len(words))]
			}
			records[i][0] = values[i]
		}
		checks, errs := Parse([]Asked{a})
		if errs != nil {
			t.Fatal(errs)
		}
		b, err := json.Marshal(map[string]any{"asked": a, "values": values})
		testcheck.Must(t, err)
		in.Write(append(b, '\n'))
		judged, err := countInParts(t, r, checks, []string{"a", "b", "c"}, records).Judge(checks, nil)
		testcheck.Must(t, err)
		f := judged.Findings[0]
		asked, ours = append(asked, string(b)), append(ours, fmt.Sprintf("[%d, %d, %v]", f.Failed, f.Checked, f.Status == Passed))
	}
	python := exec.CommandContext(t.Context(), os.Getenv("BULKLOAD_DIALECTS_PYTHON"), "-c", pandasReads)
	python.Stdin, python.Stderr = &in, os.Stderr
	out, err := python.Output()
	testcheck.Must(t, err)
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(ours) {
		t.Fatalf("pandas answers %d times, not %d", len(answers), len(ours))
	}
	differ := 0
	for i, answer := range answers {
		if answer != ours[i] && differ < 5 {
			differ++
			t.Errorf("%s: pandas %s, ours %s", asked[i], answer, ours[i])
		}
	}
}
