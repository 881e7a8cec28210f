package onyarn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// tables runs a job of a table, a further one and an index, whose command is killed repeatedly, with a build in one
// process as the judge of each.
func (s *site) tables() {
	export := jobtest.Export(s.T, "check.csv")
	dir := s.TempDir()
	into := []string{s.table(10), s.table(5), s.table(1)} // in the order of loading
	job := filepath.Join(dir, "tables.yaml")
	testcheck.Must(s.T, os.WriteFile(job, fmt.Appendf(nil, `table: %s
key: salt(check_id) + md5hex(check_id) + id
verify: full
filter: update_date >= '2015-01-01'
tables:
  - {index: by_rule, table: %q, key: rule_no + "|" + id, covers: [hit_ind]}
  - {table: %q, key: id, columns: [check_id, rule_no], filter: hit_ind = 'Y'}
`, into[0], into[2], into[1]), 0o600))
	built := filepath.Join(dir, "hfiles")
	s.must("build", "--job", job, "--input", export, "--splits", splitsOf(10), "--table-splits", into[1]+"="+splitsOf(5), "--timestamp", timestamp, "--out", built)

	args := []string{"run", "--job", job, "--input", s.put(export), "--timestamp", timestamp, "--engine", "yarn", "--maps", "2", "--reduces", "3"}
	for _, event := range []string{"submitted", "written:12", "built", "table:2", "verified:2"} {
		if e := s.with("BULKLOAD_TEST_STOP_AFTER=" + event).do(args...); e.code != -1 {
			s.Fatalf("%s: it ends with %d: %s", event, e.code, e.said)
		}
	}
	e := s.must(args...)
	for i, table := range into {
		s.holds(table, s.built(filepath.Join(built, strings.ReplaceAll(table, ":", "_"))))
		if i > 0 {
			further, _ := e.result["tables"].([]any)
			if len(further) != len(into)-1 {
				s.Fatalf("the result has %v", further)
			}
			if one, _ := further[i-1].(map[string]any); one["table"] != table || one["verify"] == nil || one["manifest"].(map[string]any)["filtered"] == nil {
				s.Errorf("table %d: the result has %v", i, one)
			}
		}
	}
	if again := s.must(args...); again.application() != "" {
		s.Errorf("the same command again: %s", again.said)
	}
}
