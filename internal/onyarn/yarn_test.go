package onyarn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bulkload/internal/bench/data"
	"bulkload/internal/jobtest"
	"bulkload/internal/testcluster"
)

const timestamp = "1700000000000"

// splitsOf are the split points of a table of so many salts, as the command takes them.
func splitsOf(salts int) string {
	var all []string
	digits := len(fmt.Sprint(salts - 1))
	for i := 1; i < salts; i++ {
		all = append(all, fmt.Sprintf("%0*d", digits, i))
	}
	return strings.Join(all, ",")
}

func (s *site) job(table string) string {
	return jobtest.Absolute(s.T, filepath.Join("../../examples", table+".yaml"))
}

// loading are the arguments of a run into a table.
func (s *site) loading(name, table, input string, more ...string) []string {
	return append([]string{"run", "--job", s.job(name), "--table", table, "--input", input, "--timestamp", timestamp, "--engine", "yarn"}, more...)
}

func (s *site) equal(name, table, local string, salts int) {
	s.Helper()
	if got, want := s.taken(table), s.local(s.job(name), local, splitsOf(salts)); !slices.Equal(got, want) {
		s.Errorf("HBase has taken %d files, one process builds %d, and they differ:\n%q\n%q", len(got), len(want), got, want)
	}
}

// TestQuick runs the example jobs to their end, as make test does.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster with YARN, which -short leaves out")
	}
	on(t, testcluster.Security{}).samples()
}

// TestYARN runs jobs to their end, and others whose processes are killed.
func TestYARN(t *testing.T) {
	testcluster.NeedsYARN(t)
	s := on(t, testcluster.Security{})
	t.Run("samples", func(t *testing.T) { s.in(t).samples() })
	t.Run("a million rows", func(t *testing.T) { s.in(t).million() })
	t.Run("a bad record", func(t *testing.T) { s.in(t).badRecord() })
}

// samples are the example jobs, with HBase's own client as judge.
func (s *site) samples() {
	for _, table := range []struct {
		name, file string
		salts      int
	}{{"check", "check.csv", 10}, {"opinion", "opinion.csv", 50}} {
		s.Run(table.file, func(t *testing.T) {
			s := s.in(t)
			local := jobtest.Absolute(t, filepath.Join(jobtest.Exports, table.file))
			into := jobtest.FreshTable(t, s.env, table.salts, nil)
			s.must(s.loading(table.name, into, s.put(local), "--maps", "2", "--reduces", "3", "--verify", "full")...)
			got, err := s.cluster.AdminT(t).Run(t.Context(), "digest", into)
			if err != nil {
				t.Fatal(err)
			}
			if want := jobtest.DigestLine(t, table.name, "skip"); got != want {
				t.Errorf("the table has %s, want %s", got, want)
			}
			s.equal(table.name, into, local, table.salts)
		})
	}
}

// million is a larger job, alone and with each of its processes killed.
func (s *site) million() {
	t := s.T
	dump, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: data.Check, Rows: 1_000_000, Seed: 7}, data.Dump)
	if err != nil {
		t.Fatal(err)
	}
	input := s.put(dump)
	want := s.local(s.job("check"), dump, splitsOf(10))
	judge := func(s *site, into string) {
		s.Helper()
		if got := s.taken(into); !slices.Equal(got, want) {
			s.Errorf("HBase has taken %d files, one process builds %d, and they differ", len(got), len(want))
		}
	}
	t.Run("alone", func(t *testing.T) {
		s := s.in(t)
		into := jobtest.FreshTable(t, s.env, 10, nil)
		s.must(s.loading("check", into, input)...)
		judge(s, into)
	})
	for name, kill := range map[string]func(command string) bool{
		"a mapper":              func(c string) bool { return strings.HasSuffix(c, "task map") && !strings.Contains(c, "java") },
		"a reducer":             func(c string) bool { return strings.HasSuffix(c, "task reduce") && !strings.Contains(c, "java") },
		"the ApplicationMaster": func(c string) bool { return strings.Contains(c, "bin/java") && strings.Contains(c, "MRAppMaster") },
		"the JVM of a task": func(c string) bool {
			return strings.Contains(c, "bin/java") && strings.Contains(c, "YarnChild") && strings.Contains(c, "_r_")
		},
	} {
		t.Run(name+" is killed", func(t *testing.T) {
			s := s.in(t)
			into := jobtest.FreshTable(t, s.env, 10, nil)
			done := make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() {
				if !s.await(done, kill, syscall.SIGKILL) {
					s.Error("nothing was killed")
				}
			})
			e := s.do(nil, s.loading("check", into, input, "--maps", "2", "--reduces", "2")...)
			close(done)
			all.Wait()
			if e.code != 0 {
				t.Fatalf("it ends with %d: %s", e.code, e.said)
			}
			judge(s, into)
		})
	}
	for _, event := range []string{"submitting", "submitted", "written:3", "built"} {
		t.Run("the client is killed after "+event, func(t *testing.T) {
			s := s.in(t)
			into := jobtest.FreshTable(t, s.env, 10, nil)
			args := s.loading("check", into, input, "--maps", "2", "--reduces", "2")
			if e := s.do([]string{"BULKLOAD_TEST_STOP_AFTER=" + event}, args...); e.code != -1 {
				t.Fatalf("it ends with %d: %s", e.code, e.said)
			}
			e := s.must(args...)
			if event == "submitted" && !strings.Contains(e.said, "attached to the application") {
				t.Errorf("it does not say that it attached: %s", e.said)
			}
			judge(s, into)
		})
	}
}

// badRecord is a job of which one attempt says that no other can succeed.
func (s *site) badRecord() {
	into := jobtest.FreshTable(s.T, s.env, 10, nil)
	e := s.do(nil, s.loading("check", into, s.put(badExport(s.T)))...)
	if e.code != 4 || !strings.Contains(e.said, "record 3 at byte") {
		s.Errorf("it ends with %d: %s", e.code, e.said)
	}
}

// badExport is an export of check whose third record has no key.
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
