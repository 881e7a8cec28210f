package onyarn

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// expressionsJob computes cells of some records of check. The cells of the table, except for its name, are those that
// computedExport writes.
const expressionsJob = `key: salt(check_id) + md5hex(check_id) + id
empty: skip
verify: full
filter: update_date >= '2015-01-01' and (hit_ind = 'Y' or rule_type = 'A') and trunc_no > 99.5
cells:
  - {expr: upper(trim(rule_desc)), qualifier: a}
  - {expr: "case when hit_ind = 'Y' then 'hit' when rule_desc like '%疑似%' then 'doubt' end", qualifier: b}
  - {expr: "add(trunc_no, length(rule_no))", qualifier: c, type: long}
  - {expr: "replace(substr(update_date, 0, 10), '-', '') + '/' + lower(rule_no)", qualifier: d}
  - {column: update_by, qualifier: e}
  - {expr: "coalesce(nullif(remarks, ''), nullif(cause_code, ''), '-')", qualifier: f}
`

// computedExport writes the records of an export of check that pass the job's filter, with its cells as columns, and
// counts the others.
func (s *site) computedExport(export string) (name string, filtered int) {
	s.Helper()
	f, err := os.Open(export)
	testcheck.Must(s.T, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	testcheck.Must(s.T, err)
	out := [][]string{{"id", "check_id", "a", "b", "c", "d", "e", "f"}}
	for _, r := range records[1:] {
		of := func(column string) string { return r[slices.Index(records[0], column)] }
		number, err := strconv.Atoi(of("trunc_no"))
		testcheck.Must(s.T, err)
		if of("update_date") < "2015-01-01" || of("hit_ind") == "N" && of("rule_type") != "A" || number < 100 {
			filtered++
			continue
		}
		b := ""
		if of("hit_ind") == "Y" {
			b = "hit"
		} else if strings.Contains(of("rule_desc"), "疑似") {
			b = "doubt"
		}
		day, _, _ := strings.Cut(of("update_date"), " ")
		out = append(out, []string{of("id"), of("check_id"), strings.ToUpper(strings.TrimSpace(of("rule_desc"))), b, fmt.Sprint(number + len(of("rule_no"))),
			strings.ReplaceAll(day, "-", "") + "/" + strings.ToLower(of("rule_no")), of("update_by"), cmp.Or(of("remarks"), of("cause_code"), "-")})
	}
	name = filepath.Join(s.TempDir(), "computed.csv")
	w, err := os.Create(name)
	testcheck.Must(s.T, err)
	testcheck.Must(s.T, csv.NewWriter(w).WriteAll(out))
	testcheck.Must(s.T, w.Close())
	return name, filtered
}

// expressions loads records with a filter and computed cells, in one process, by shares, on YARN, and from a table. A file has the filtered records.
// The judges are a build of an export that Go's own library has filtered and computed, byte for byte, and HBase's own client.
func (s *site) expressions() {
	dir := s.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		testcheck.Must(s.T, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	job := write("job.yaml", expressionsJob)
	plain := write("plain.yaml", "key: salt(check_id) + md5hex(check_id) + id\nempty: skip\ncells:\n  - columns: [a, b, d, e, f]\n  - {column: c, type: long}\n")
	export := jobtest.Export(s.T, "check.csv")
	computed, filtered := s.computedExport(export)
	want := s.local(plain, computed, splitsOf(10))
	counted := func(e ended) {
		s.Helper()
		if e.result["filtered"] != float64(filtered) {
			s.Errorf("the result has filtered %v, want %d: %s", e.result["filtered"], filtered, e.said)
		}
	}

	plan, rows, merged := filepath.Join(dir, "plan"), filepath.Join(dir, "rows"), filepath.Join(dir, "merged")
	s.must("plan", "--job", job, "--input", export, "--splits", splitsOf(10), "--timestamp", timestamp, "--out", plan)
	for _, share := range []string{"2/2", "1/2"} {
		s.must("build", "--plan", plan, "--share", share, "--out", rows)
	}
	counted(s.must("merge", "--plan", plan, "--shares", rows, "--out", merged))
	if got := s.built(merged); !slices.Equal(got, want) {
		s.Errorf("shares have built %q, one process of computed columns %q", got, want)
	}

	here, there, old, copied := s.table(10), s.table(10), s.table(10), s.table(10)
	loading := func(table, input string, more ...string) []string {
		return append([]string{"run", "--job", job, "--table", table, "--input", input, "--timestamp", timestamp}, more...)
	}
	file := func(name string) []string { return []string{"--filtered-file", filepath.Join(dir, name)} }
	local := loading(here, jobtest.Export(s.T, "check.parquet"), file("here.jsonl")...)
	for _, event := range []string{"sorted", "written:3", "built"} {
		if e := s.with("BULKLOAD_TEST_STOP_AFTER=" + event).do(local...); e.code != -1 {
			s.Fatalf("%s: it ends with %d: %s", event, e.code, e.said)
		}
	}
	counted(s.must(local...))
	counted(s.must(local...)) // it was done before
	s.holds(here, want)
	onYARN := loading(there, s.put(export), append(file("there.jsonl"), "--engine", "yarn", "--maps", "2", "--reduces", "3")...)
	if e := s.with("BULKLOAD_TEST_STOP_AFTER=submitted").do(onYARN...); e.code != -1 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	counted(s.must(onYARN...))
	s.holds(there, want)
	for _, name := range []string{"here.jsonl", "there.jsonl"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if n := strings.Count(string(b), `"raw":`); err != nil || n != filtered {
			s.Errorf("%s has %d records that the filter leaves out, want %d, %v", name, n, filtered, err)
		}
	}
	s.must("run", "--job", s.job("check"), "--table", old, "--input", export)
	counted(s.must(loading(copied, "hbase:"+old)...))
	s.holds(copied, want)
	if a, b := s.digest(here), s.digest(there); a != b {
		s.Errorf("HBase's client sees %s and %s", a, b)
	}
}
