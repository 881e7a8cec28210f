package secured

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// rowsEach is the size of the exports of the full suite.
const rowsEach = 200_000

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exports returns the exports of the checkout, and in the full suite also large ones.
func exports(t *testing.T) []export {
	all := small(t)
	if full() {
		all = append(all, made(t, data.Check, data.Dump, 10, rowsEach), made(t, data.Opinion, data.Parquet, 50, rowsEach))
	}
	return all
}

// load runs the main job on a table.
func (s *site) load(t testing.TB, e export, table string, more ...string) ended {
	t.Helper()
	return s.must(t, s.loading(e, table, more...)...)
}

func (s *site) loading(e export, table string, more ...string) []string {
	return append([]string{"run", "--job", e.job(), "--table", table, "--input", e.input, "--verify", "full", "--progress", "off"}, more...)
}

// holds compares a table with the rows of an export: by HBase's Java client, and by the output of get and scan.
func (s *site) holds(t testing.TB, e export, table string) {
	t.Helper()
	if got := s.digest(t, table); got != e.digest {
		t.Errorf("HBase's client sees %s in %s, want %s", got, table, e.digest)
	}
	if e.found > 0 {
		got := s.must(t, append([]string{"get", "--job", e.job(), "--table", table}, e.key...)...)
		if n := strings.Count(got.out, "\n"); n != e.found {
			t.Errorf("get prints %d rows of %s, want %d", n, table, e.found)
		}
	}
	const some = 1000
	got := s.must(t, "scan", "--job", e.job(), "--table", table, "--start-row", "0", "--limit", "1000")
	if n := strings.Count(got.out, "\n"); n != some {
		t.Errorf("scan prints %d rows of %s, want %d", n, table, some)
	}
}

// testJobs loads the exports as a user who is not a superuser, and checks the tables.
func testJobs(t *testing.T, s *site) {
	for _, e := range exports(t) {
		table := "job_" + string(e.kind)
		s.create(t, table, e.salts)
		took := s.load(t, e, table).took
		t.Logf("%d rows of %s in %.1f s", e.rows, e.kind, took.Seconds())
		s.holds(t, e, table)
		s.loadedOnce(t, table)
		if t.Failed() {
			return
		}
	}
}

// testMapped runs the job as a principal that the cluster's rules map to a name other than its first part.
func testMapped(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "mapped"
	s.create(t, table, e.salts)
	s.as(testcluster.Mapped).load(t, e, table)
	s.holds(t, e, table)
	s.loadedOnce(t, table)
}

// testAfterwards performs the later operations of a cluster on a loaded table: files are compacted and archived, regions
// close and open again, and the region server restarts. HBase does this as its own user, with files that another user has
// written.
func testAfterwards(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "afterwards"
	s.create(t, table, e.salts)
	s.load(t, e, table)
	before := s.storeFiles(t, "/hbase", table)
	server := s.c.Daemon(testcluster.RegionServer)
	pid := server.Pid()
	step := steps(t)
	s.adm(t, "major-compact", table)
	step("compacted")
	s.holds(t, e, table)
	// Regions archive compacted files when they close.
	s.adm(t, "disable", table)
	s.adm(t, "enable", table)
	step("closed and opened")
	s.holds(t, e, table)
	if now := server.Pid(); now != pid {
		t.Fatalf("the region server has ended: process %d is now %d", pid, now)
	}
	after, archived := s.storeFiles(t, "/hbase", table), s.storeFiles(t, "/hbase/archive", table)
	for dir, files := range before {
		old := filepath.Base(files[0].path)
		for _, f := range after[dir] {
			if filepath.Base(f.path) == old {
				t.Errorf("%s is there after a major compaction", f.path)
			}
			if f.owner != "hbase" {
				t.Errorf("%s is of %s after a major compaction", f.path, f.owner)
			}
		}
		in := strings.Replace(dir, "/hbase/", "/hbase/archive/", 1)
		// A slow region gets a second compaction request, which archives the file of the first.
		found := false
		for _, f := range archived[in] {
			loaded := filepath.Base(f.path) == old
			if found = found || loaded; !loaded && f.owner != "hbase" {
				t.Errorf("%s is of %s, want the file of a compaction", f.path, f.owner)
			}
		}
		if !found {
			t.Errorf("%s has %v, want %s", in, archived[in], old)
		}
	}
	// Another load into regions whose files HBase has written.
	s.load(t, e, table, "--job-id", "again")
	step("loaded again")
	s.restart(t, testcluster.RegionServer)
	step("started again")
	s.holds(t, e, table)
}

// restart kills a daemon, starts it, and waits until the cluster serves again.
func (s *site) restart(t testing.TB, role testcluster.Role) {
	t.Helper()
	if err := s.c.Daemon(role).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// steps logs the duration of each step of a test.
func steps(t testing.TB) func(name string) {
	last := time.Now()
	return func(name string) {
		t.Helper()
		t.Logf("%s: %.1f s", name, time.Since(last).Seconds())
		last = time.Now()
	}
}
