package callers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/partition"
)

// root returns the top of the checkout.
const root = "../../.."

func TestMain(m *testing.M) { testcluster.Main(m) }

// program returns a directory with the built program, for PATH.
func program(t *testing.T) string {
	t.Helper()
	return filepath.Dir(jobtest.Program(t))
}

// site has exports, job files and tables in the layout that the examples expect.
type site struct {
	cluster *testcluster.Cluster
	tables  string // prefix of check and opinion in the names of the tables
	jobs    string // directory of check.yaml and opinion.yaml
	exports string // directory with check/DAY and opinion/DAY
	state   string // directory of all jobs' state
}

// salts are the numbers of salts of the tables, and of the digests of their exports.
var salts = map[string]int{"check": 10, "opinion": 50}

// newSite creates the tables and the exports of a day.
func newSite(t *testing.T, day string) *site {
	t.Helper()
	s := &site{cluster: testcluster.Shared(t), tables: "test:" + testcheck.Name(t) + "_", jobs: jobtest.Absolute(t, root+"/examples"),
		exports: t.TempDir(), state: t.TempDir()}
	for table, export := range map[string]string{"check": "check.dump", "opinion": "opinion.parquet"} {
		name := s.tables + table
		splits := string(bytes.Join(partition.SaltSplits(salts[table]), []byte(",")))
		s.adm(t, "create", name, "--splits", splits, "--compression", "SNAPPY", "--encoding", "FAST_DIFF")
		s.drops(t, name)
		dir := filepath.Join(s.exports, table, day)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		// No link: each link changes the times of a file, which the program would detect.
		copyFile(t, root+"/testdata/exports/"+export, filepath.Join(dir, export))
	}
	return s
}

// drops drops a table after the test.
func (s *site) drops(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own has ended by then
		defer cancel()
		admin, err := s.cluster.Admin(ctx)
		if err == nil {
			_, err = admin.Run(ctx, "drop", name)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// adm runs a command of HBase's own client.
func (s *site) adm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.cluster.AdminT(t).Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// judge checks that a table has exactly the rows of its export.
func (s *site) judge(t *testing.T, table string) {
	t.Helper()
	b, err := os.ReadFile(root + "/testdata/exports/" + table + ".digest")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), " ", 3); f[0] == "skip" && f[1] == strconv.Itoa(salts[table]) {
			want = f[2]
		}
	}
	if got := s.adm(t, "digest", s.tables+table); got != want || want == "" {
		t.Errorf("%s has %s, want %s", table, got, want)
	}
}

// environ returns this process's environment with the cluster and the program.
func (s *site) environ(t *testing.T, more ...string) []string {
	t.Helper()
	env := append(os.Environ(), "PATH="+program(t)+":"+os.Getenv("PATH"), "HADOOP_CONF_DIR="+s.cluster.ConfDir(),
		"HBASE_CONF_DIR="+s.cluster.ConfDir(), "HADOOP_USER_NAME=tina", "NIGHTLY_JOBS="+s.jobs, "NIGHTLY_EXPORTS="+s.exports,
		"NIGHTLY_TABLES="+s.tables, "NIGHTLY_STATE="+s.state)
	return append(env, more...)
}

// events counts the records of the one journal of a table by event; there may be no journal yet.
func (s *site) events(t *testing.T, table string) map[string]int {
	t.Helper()
	n := map[string]int{}
	names, err := filepath.Glob(filepath.Join(s.state, strings.ReplaceAll(s.tables, ":", "_")+table+"-*", journal.FileName))
	if err != nil || len(names) > 1 {
		t.Fatalf("journals %q: %v", names, err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		records, err := journal.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			n[r.Event]++
		}
	}
	return n
}

// holder returns the process that holds the lock of the table's job, 0 if the lock has no process id.
func (s *site) holder(table string) (pid int) {
	names, _ := filepath.Glob(filepath.Join(s.state, strings.ReplaceAll(s.tables, ":", "_")+table+"-*", journal.LockName))
	for _, name := range names {
		b, _ := os.ReadFile(name)
		_, _ = fmt.Sscanf(string(b), "process %d on", &pid)
	}
	return pid
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
