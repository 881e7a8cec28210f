package secured

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/test/testcluster"
)

// testMany runs concurrent loads of one principal, and checks in sequence: all end with 0, and the region server does not accumulate file
// systems of the callers (HBASE-21342, HBASE-23679).
func testMany(t *testing.T, s *site) {
	const loads = 4
	checks := 10
	if full() {
		checks = 50
	}
	e := small(t)[0]
	for i := range loads + 1 {
		s.create(t, fmt.Sprintf("many_%d", i), e.salts)
	}
	check := []string{"check", "--job", e.job(), "--table", "many_0", "--input", e.input, "--verify", "full"}
	s.load(t, e, fmt.Sprintf("many_%d", loads)) // warms up the objects that a server creates once
	s.must(t, check...)
	before := s.fileSystems(t)
	var all sync.WaitGroup
	ends := make([]ended, loads)
	for i := range ends {
		all.Go(func() { ends[i] = s.do(t, s.loading(e, fmt.Sprintf("many_%d", i))...) })
	}
	all.Wait()
	for i, r := range ends {
		if r.code != 0 {
			t.Errorf("load %d of %d at once: exit code %d\n%s", i, loads, r.code, r.err)
		}
		s.holds(t, e, fmt.Sprintf("many_%d", i))
	}
	for i := range checks {
		if r := s.do(t, check...); r.code != 0 {
			t.Fatalf("check %d: exit code %d\n%s%s", i, r.code, r.out, r.err)
		}
	}
	after := s.fileSystems(t)
	t.Logf("file systems in the region server: %d before, %d after %d loads and %d checks", before, after, loads, checks)
	if after > before+loads {
		t.Errorf("the region server has %d file systems, %d before", after, before)
	}
}

// fileSystems counts the clients of HDFS that live in the region server.
func (s *site) fileSystems(t *testing.T) int {
	t.Helper()
	pid := s.c.Daemon(testcluster.RegionServer).Pid()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Fatal(err)
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(java), "jmap"), "-histo:live", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatalf("jmap: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "org.apache.hadoop.hdfs.DistributedFileSystem" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the region server has no file system")
	return 0
}
