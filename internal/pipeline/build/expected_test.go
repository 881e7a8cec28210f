package build

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// expecting returns a job from the text of a job file.
func expecting(t testing.TB, input, text string) spec.Spec {
	t.Helper()
	s, err := spec.ParseSpec("x", []byte("key: id\ntimestamp: 1\n"+text))
	testcheck.Must(t, err)
	s.Inputs = []string{input}
	return *s
}

// found returns the results of expectations as text.
func found(c *expectation.Counts) string {
	var all []string
	for _, f := range c.Findings {
		all = append(all, f.Status+" "+f.String())
	}
	return strings.Join(all, "\n")
}

// TestExpected checks that expectations ignore rejected and filtered records, and that no file is left if one is not met.
func TestExpected(t *testing.T) {
	input := writeInput(t, "x.csv", "id,n,flag\na,1,0\nb,,0\n,3,0\nc,x,1\nd,2,0\n")
	s := expecting(t, input, `
filter: flag = '0'
bad_records: 1
expect:
- rows: {min: 3, max: 3}
- rows: {within: 5%, of_last: 3}
- {column: n, nulls: 33.4%, min: 1, max: 2, unique: true, matches: '[0-9]+'}
- {column: flag, values: [1], severity: warn}
`)
	warned := []string{}
	dir := t.TempDir()
	w := WorkOptions{Events: progress.Events{OnWarn: func(msg string, kv ...any) { warned = append(warned, fmt.Sprint(msg, kv)) }}}
	m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, dir, w)
	testcheck.Must(t, err)
	want := `passed rows at least 3 at most 3: 3 records
unchecked rows within 5% of the last 3 jobs: 3 records, and 0 earlier jobs of this table and job file to compare with
passed column n, nulls at most 33.4%: 1 of 3 records
passed column n, matches a pattern: 0 of 2 values fail
passed column n, min 1: 0 of 2 values fail
passed column n, max 2: 0 of 2 values fail
passed column n, unique: 0 of 2 values are repetitions
failed column flag, values (1 are allowed): 3 of 3 values fail`
	if got := found(m.Expect); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "an expectation is not met") {
		t.Errorf("%q", warned)
	}
	for text, want := range map[string]string{
		"expect: [{column: n, nulls: 0}]":                           "1 expectation of the job is not met: column n, nulls at most 0: 1 of 4 records; nothing was loaded",
		"expect: [{rows: {max: 2}}, {column: n, max: 2}]":           "2 expectations of the job are not met: rows at most 2: 4 records; column n, max 2: 1 of 3 values fail",
		"expect: [{column: n, values: ['1', '2', '3', x]}]":         "",
		"expect: [{column: id, newest_within: 1d}]":                 "column id, newest within 1d: 4 of 4 values are not dates of the layout",
		"expect: [{column: flag, newest_within: 1d, layout: unix}]": "column flag, newest within 1d: all 4 dates are older",
	} {
		dir := t.TempDir()
		_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, expecting(t, input, "bad_records: 1\n"+text)), jobtest.Family, nil, dir, WorkOptions{})
		if want == "" {
			testcheck.Must(t, err)
			continue
		}
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v %v", text, entries, err)
		}
	}
	_, err = OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, expecting(t, input, "expect: [{column: m, nulls: 1}]")), WorkOptions{})
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), `expect: the input has no column "m" (it has ["id"`) {
		t.Error(err)
	}
}

// TestExpectedOfFilesWithNULL checks that empty text is not NULL in files that can represent NULL, and counts as NULL in others.
func TestExpectedOfFilesWithNULL(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"x.csv":   {"id,n\na,\nb,1\n", "nulls at most 100%: 1 of 2 records"},
		"x.jsonl": {`{"id":"a","n":""}` + "\n" + `{"id":"b","n":null}` + "\n" + `{"id":"c"}` + "\n", "nulls at most 100%: 2 of 3 records"},
	} {
		s := expecting(t, writeInput(t, name, c.text), "columns: [id, n]\nmissing: 'null'\nexpect: [{column: n, nulls: 100%}]")
		_, m, err := buildCells(t, s)
		testcheck.Must(t, err)
		if got := found(m.Expect); got != "passed column n, "+c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestExpectedInParts checks that parts read by separate processes add up to the counts of one process, and are evaluated before a file is written.
func TestExpectedInParts(t *testing.T) {
	s := expecting(t, repeated(t), `
bad_records: 100%
duplicates: first
expect:
- {column: name, nulls: 1%, matches: '.*[0-9]'}
- {column: n, min: 100, max: 8000, severity: warn}
- rows: {min: 1}
`)
	c := oneTable(s, [][]byte{[]byte("k3")})
	_, whole := c.whole(t)
	plans, in, runs, err := c.readParts(t, 3)
	testcheck.Must(t, err)
	m, err := c.mergeRuns(t, t.TempDir(), plans, in, runs, 2)
	testcheck.Must(t, err)
	testcheck.Must(t, Met(m, jobtest.Resolve(t, s).Checks(), nil, progress.Events{}))
	if got, want := found(m[0].Expect), found(whole[0].Expect); got != want || !strings.Contains(want, "failed column n, min 100") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var parts []*PartRead
	for _, r := range runs {
		parts = append(parts, r.Read)
	}
	s.Expectations[1].Severity = ""
	if err := MetByParts(parts, jobtest.Resolve(t, s).Checks()); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "column n, min 100") {
		t.Error(err)
	}
}
