package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestExpectedByTheProgram checks that the results of a job file's expectations are in the result, the report, the metrics and the lineage,
// that an unmet expectation gives exit code 4, and that shares find the same.
func TestExpectedByTheProgram(t *testing.T) {
	dir := t.TempDir()
	doubled(t, filepath.Join(dir, "in.csv"), 3000)
	write := func(expect string) {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, "job.yaml"), []byte("table: t\nkey: id\nduplicates: first\nbad_records: 1%\ntimestamp: 1700000000000\nexpect:\n"+expect), 0o600))
	}
	j := sharedJob{t, dir, []string{"--job", "job.yaml", "--input", "in.csv", "--splits", "k00500,k01000"}}
	write("- {column: id, nulls: 0, matches: 'k[0-9]+'}\n- {column: id, min: k1, severity: warn}\n- rows: {within: 1%, of_last: 2}\n")
	out := j.must(append([]string{"build", "--log-level", "error", "--output", "json", "--out", "local", "--report", "r.html", "--metrics-file", "m.prom", "--openlineage", "e.jsonl"}, j.args...)...)
	var r struct {
		Expectations struct {
			Findings []struct {
				Expectation, Status string
				Failed              int64
			}
		}
	}
	testcheck.Must(t, json.Unmarshal([]byte(out), &r))
	if f := r.Expectations.Findings; len(f) != 4 || f[0].Status != "passed" || f[1].Expectation != "matches a pattern" || f[2].Status != "failed" || f[2].Failed == 0 || f[3].Status != "unchecked" {
		t.Errorf("%+v", f)
	}
	for file, want := range map[string][]string{
		"r.html":  {"<h2 id=\"expected\">Expectations</h2>", "<td><code>id</code></td><td>min k1</td>", "<td>failed (warning)</td>", "<td>records</td><td>rows within 1% of the last 2 jobs</td>"},
		"m.prom":  {`outcome="passed",table="t"} 2`, `outcome="warned",table="t"} 1`, `outcome="unchecked",table="t"} 1`, `outcome="failed",table="t"} 0`},
		"e.jsonl": {`"dataQualityAssertions":{"_producer":`, `"assertions":[{"assertion":"nulls at most 0","success":true,"column":"id"},{"assertion":"matches a pattern","success":true,"column":"id"},{"assertion":"min k1","success":false,"column":"id"}]`},
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		testcheck.Must(t, err)
		for _, text := range want {
			if !strings.Contains(string(b), text) {
				t.Errorf("%s lacks %s", file, text)
			}
		}
	}
	j.plan()
	for k := 1; k <= 2; k++ {
		j.must(shareArgs(k, 2)...)
	}
	j.must(mergeArgs(1, 1)...)
	if got, want := findingsOf(t, filepath.Join(dir, "hfiles")), findingsOf(t, filepath.Join(dir, "local")); got != want || !strings.Contains(got, "min k1") {
		t.Errorf("shares find %s\none build %s", got, want)
	}
	for expect, want := range map[string]string{"- {column: id, min: k1}\n": "column id, min k1: ", "- {column: idd, unique: true}\n": `the input has no column "idd"`} {
		write(expect)
		code := map[bool]int{true: 4, false: 2}[strings.Contains(expect, "min")]
		out, got := j.program(append([]string{"build", "--quiet", "--out", "refused", "--output", "json", "--metrics-file", "m.prom"}, j.args...)...)
		fields, err := checkResult([]byte(out))
		if got != code || err != nil || !strings.Contains(fmt.Sprint(fields["error"]), want) || (fields["not_met"] != nil) != (code == 4) {
			t.Errorf("%s: exit code %d, %v: %s", expect, got, err, out)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "m.prom")); err != nil || strings.Contains(string(b), `outcome="failed",table="t"} 1`) != (code == 4) {
			t.Errorf("%s: metrics %s, %v", expect, b, err)
		}
	}
	write("- {column: id, unique: true}\n")
	if out, code := j.program(append([]string{"plan", "--quiet", "--out", "other"}, j.args...)...); code != 2 || !strings.Contains(out, "column id, unique: shares do not know each other's values") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// findingsOf returns the findings of a manifest.
func findingsOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "_bulkload.json"))
	testcheck.Must(t, err)
	var m struct {
		Expectations struct{ Findings json.RawMessage }
	}
	testcheck.Must(t, json.Unmarshal(b, &m))
	return string(m.Expectations.Findings)
}
