package onyarn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

const timestamp = "1700000000000"

// splitsOf returns the split points of a table with n salts in the form of the command line.
func splitsOf(salts int) string {
	var all []string
	digits := len(fmt.Sprint(salts - 1))
	for i := 1; i < salts; i++ {
		all = append(all, fmt.Sprintf("%0*d", digits, i))
	}
	return strings.Join(all, ",")
}

func (s *site) job(table string) string {
	return jobtest.Absolute(s.T, filepath.Join("../../../examples", table+".yaml"))
}

// loading returns the arguments of a run into a table.
func (s *site) loading(name, table, input string, more ...string) []string {
	return append([]string{"run", "--job", s.job(name), "--table", table, "--input", input, "--timestamp", timestamp, "--engine", "yarn"}, more...)
}

// sample is an example job with its export.
type sample struct {
	name, file string
	salts      int
}

// samples are the samples of the quick part.
var samples = []sample{{"check", "check.csv", 10}, {"opinion", "opinion.csv", 50}}

// TestQuick runs the example jobs to their end, as part of make test.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster with YARN, which -short leaves out")
	}
	s := on(t, testcluster.Options{YARN: true})
	for _, e := range samples {
		s.sample(e)
	}
	s.Run("replace", func(t *testing.T) { s.in(t).replaces() })
	s.Run("several tables", func(t *testing.T) { s.in(t).tables() })
	s.Run("a table as input", func(t *testing.T) { s.in(t).tableInput() })
	s.Run("new keys", func(t *testing.T) { s.in(t).rekeys() })
	s.Run("object stores", func(t *testing.T) { s.in(t).stores() })
}

// replaces replaces a table by an export with fewer rows, in place and into a new table, with a load by one process
// as the judge.
func (s *site) replaces() {
	whole := jobtest.Export(s.T, "check.csv")
	b, err := os.ReadFile(whole)
	testcheck.Must(s.T, err)
	lines := strings.SplitAfter(string(b), "\n")
	fewer := filepath.Join(s.TempDir(), "fewer.csv")
	testcheck.Must(s.T, os.WriteFile(fewer, []byte(lines[0]+strings.Join(lines[40:], "")), 0o600))
	job := func(table, input string, more ...string) []string {
		return append([]string{"run", "--job", s.job("check"), "--table", table, "--input", input, "--verify", "full"}, more...)
	}
	alone, old := s.table(10), s.table(10)
	s.must(job(alone, fewer)...)
	s.must(job(old, whole)...)
	want := s.digest(alone)
	in := s.put(fewer)
	s.must(job(old, in, "--replace", "--max-deletes", "100%", "--into", old+"_new", "--engine", "yarn")...)
	if got := s.digest(old + "_new"); got != want {
		s.Errorf("the new table has %s, one that one process loads %s", got, want)
	}
	s.must(job(old, in, "--replace", "--max-deletes", "39", "--engine", "yarn")...)
	if got := s.digest(old); got != want {
		s.Errorf("the table has %s, one that one process loads %s", got, want)
	}
}

// TestYARN runs jobs to their end, and others whose processes are killed.
func TestYARN(t *testing.T) {
	testcluster.NeedsYARN(t)
	s := on(t, testcluster.Options{YARN: true})
	t.Run("samples", func(t *testing.T) {
		for _, e := range append([]sample{{"opinion", "opinion.csv", 10}, {"opinion", "opinion.parquet", 50}}, samples...) {
			s.in(t).sample(e)
		}
	})
	t.Run("a bad record", func(t *testing.T) { s.in(t).badRecord() })
	t.Run("expressions", func(t *testing.T) { s.in(t).expressions() })
	t.Run("a million rows", func(t *testing.T) {
		s := s.in(t)
		input, want := s.export(1_000_000)
		t.Run("alone", func(t *testing.T) {
			s := s.in(t)
			into := s.table(10)
			s.must(s.loading("check", into, input)...)
			s.holds(into, want)
		})
		t.Run("on a full disk", func(t *testing.T) { s.in(t).fullDisk(input, want) })
	})
	// Each process reads and writes tens of megabytes for these.
	input, want := s.export(400_000)
	for _, part := range []struct {
		name string
		do   func(s *site, input string, want []string)
	}{
		{"harm", (*site).harmed}, {"silence", (*site).silent}, {"speculation", (*site).speculates},
		{"a signal", (*site).signaled}, {"the client", (*site).client},
	} {
		t.Run(part.name, func(t *testing.T) { part.do(s.in(t), input, want) })
	}
}

// export writes an export of check to HDFS, and builds its HFiles in one process.
func (s *site) export(rows int64) (input string, want []string) {
	s.Helper()
	dump, err := data.WriteFile(s.Context(), s.TempDir(), data.Spec{Table: data.Check, Rows: rows, Seed: 7}, data.Dump)
	if err != nil {
		s.Fatal(err)
	}
	return s.put(dump), s.local(s.job("check"), dump, splitsOf(10))
}

// sample runs an example job, with HBase's own client and a build in one process as judges.
func (s *site) sample(e sample) {
	s.Run(fmt.Sprintf("%s, %d regions", e.file, e.salts), func(t *testing.T) {
		s := s.in(t)
		local := jobtest.Export(t, e.file)
		into := s.table(e.salts)
		s.must(s.loading(e.name, into, s.put(local), "--maps", "2", "--reduces", "3", "--verify", "full")...)
		// The generator's digests are for these numbers of salts.
		if e.salts == map[string]int{"check": 10, "opinion": 50}[e.name] {
			if got, want := s.digest(into), jobtest.DigestLine(t, e.name, "skip"); got != want {
				t.Errorf("the table has %s, want %s", got, want)
			}
		}
		s.holds(into, s.local(s.job(e.name), local, splitsOf(e.salts)))
	})
}

// badRecord checks that a job does not retry if an attempt reports that no other can succeed.
func (s *site) badRecord() {
	into := s.table(10)
	e := s.do(s.loading("check", into, s.put(badExport(s.T)))...)
	if e.code != 4 || !strings.Contains(e.said, "record 3 at byte") {
		s.Errorf("it ends with %d: %s", e.code, e.said)
	}
}

// badExport writes an export of check whose third record has no key.
func badExport(t *testing.T) string {
	t.Helper()
	columns := "id,check_id,rule_no,index_value,rule_type,hit_condition,rule_desc,hit_ind,artificial_ver_result,cause_code,opinin,create_by,create_date,update_by,update_date,remarks,del_flag,trunc_no"
	rest := strings.Repeat(",x", strings.Count(columns, ",")-1) + "\n"
	name := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(name, []byte(columns+"\n1,2"+rest+"2,3"+rest+",4"+rest+"4,5"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
