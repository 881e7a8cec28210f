package onyarn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bulkload/internal/test/testcluster"
)

// Files of Hadoop's configuration.
const (
	yarnFile   = "yarn-site.xml"
	mapredFile = "mapred-site.xml"
)

// conf returns the site with additional Hadoop configuration. No job can change a value that begins with "final ".
func (s *site) conf(more map[string]map[string]string) *site {
	s.Helper()
	dir := s.TempDir()
	files, err := filepath.Glob(filepath.Join(s.cluster.ConfDir(), "*"))
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			s.Fatal(err)
		}
		text := string(b)
		var added strings.Builder
		for key, value := range more[filepath.Base(name)] {
			value, final := strings.CutPrefix(value, "final ")
			fmt.Fprintf(&added, "<property><name>%s</name><value>%s</value><final>%v</final></property>", key, strings.ReplaceAll(value, "CONF", dir), final)
		}
		if added.Len() > 0 {
			text = strings.Replace(text, "</configuration>", added.String()+"</configuration>", 1)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	return s.with("HADOOP_CONF_DIR="+dir, "HBASE_CONF_DIR="+dir)
}

// speculates runs second attempts of a slow map and of a slow reduce, which a site may enforce. The slow ones continue
// concurrently, and one of each counts.
func (s *site) speculates(input string, want []string) {
	const on = "final true"
	path := "CONF," + s.classPath()
	own := s.conf(map[string]map[string]string{
		// The ApplicationMaster reads final values from its own class path. The options of the cluster give it another, and an empty value does not
		// replace them.
		yarnFile: {"yarn.application.classpath": path},
		mapredFile: {"mapreduce.application.classpath": path, "mapreduce.map.speculative": on, "mapreduce.reduce.speculative": on,
			"mapreduce.job.speculative.retry-after-speculate": "2000", "yarn.app.mapreduce.am.admin-command-opts": "-XX:TieredStopAtLevel=1"},
	})
	into := s.table(10)
	e := own.during(func(m *moment) {
		for _, kind := range []string{"map", "reduce"} {
			slow, ok := m.work(kind, 2*mega, 0)
			if !ok || !m.signal(slow.Process, syscall.SIGSTOP) {
				return
			}
			second := m.until("a second attempt at "+slow.task(), func(all []testcluster.Process) bool {
				for _, w := range workers(all) {
					if w.task() == slow.task() && w.attempt != slow.attempt {
						m.Logf("%s is next to %s", w.attempt, slow.attempt)
						return true
					}
				}
				return false
			})
			if !m.signal(slow.Process, syscall.SIGCONT) || !second {
				return
			}
		}
	}, s.loading("check", into, input, "--maps", "2", "--reduces", "2")...)
	if e.code != 0 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	s.holds(into, want)
	if lost := s.attempts(e); len(lost) < 2 {
		s.Errorf("%d attempts were in vain, want one of a map and one of a reduce", len(lost))
	}
}

// classPath returns the class path of the cluster's containers.
func (s *site) classPath() string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.cluster.ConfDir(), yarnFile))
	if err != nil {
		s.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<name>yarn.application.classpath</name><value>")
	value, _, ok := strings.Cut(rest, "</value>")
	if !ok {
		s.Fatal("the cluster has no yarn.application.classpath")
	}
	return value
}

// silent suspends a reduce task for longer than Hadoop allows.
func (s *site) silent(input string, want []string) {
	own := s.conf(map[string]map[string]string{mapredFile: {"mapreduce.task.timeout": "20000", "mapreduce.task.timeout.check-interval-ms": "2000"}})
	into := s.table(10)
	var still worker
	e := own.during(func(m *moment) {
		if w, ok := m.work("reduce", 0, 2*mega); ok && m.signal(w.Process, syscall.SIGSTOP) {
			still = w
		}
	}, s.loading("check", into, input, "--maps", "2", "--reduces", "2")...)
	if e.code != 0 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	s.holds(into, want)
	if still.attempt == "" {
		return // which was reported
	}
	s.over(still.Process)
	for _, a := range s.attempts(e) {
		if a.ID == still.attempt && strings.Contains(a.Diagnostics, "taskTimedOut: true") {
			return
		}
	}
	s.Errorf("%s has not timed out", still.attempt)
}

// fullDisk fills the disk of a node while a map sorts on it. Sorted rows do not fit into the memory of the map, and no task can be
// retried there.
func (s *site) fullDisk(input string, want []string) {
	mounted := map[testcluster.Role]string{}
	for _, role := range s.cluster.Roles() {
		if !strings.HasPrefix(string(role), string(testcluster.NodeManager)) {
			continue
		}
		dir := filepath.Join(s.cluster.NodeDir(role), "local", "usercache")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400m,mode=0755"); err != nil {
			s.Skipf("small disks need a user who may mount them: %v", err)
		}
		s.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				s.Error(err)
			}
		})
		mounted[role] = dir
	}
	into := s.table(10)
	e := s.during(func(m *moment) {
		w, ok := m.work("map", 20*mega, 0)
		if !ok || !m.signal(w.Process, syscall.SIGSTOP) {
			return
		}
		filler := filepath.Join(mounted[w.Node], "filler")
		n, err := fill(filler)
		m.Logf("the disk of %s is full after %d bytes: %v", w.Node, n, err)
		// YARN avoids hosts, and both nodes are on the same host: another attempt may run on this disk, which has
		// free space by then.
		if m.signal(w.Process, syscall.SIGCONT) {
			m.until("the attempt ends", func(all []testcluster.Process) bool {
				return !slices.ContainsFunc(workers(all), func(other worker) bool { return other.attempt == w.attempt })
			})
		}
		if err := os.Remove(filler); err != nil {
			m.Error(err)
		}
	}, s.loading("check", into, input, "--maps", "1", "--map-memory", "512MiB", "--reduces", "2")...)
	if e.code != 0 {
		s.Fatalf("it ends with %d: %s", e.code, e.said)
	}
	s.holds(into, want)
	s.attempts(e)
	if !strings.Contains(e.said, syscall.ENOSPC.Error()) {
		s.Errorf("the command does not say that the disk of a node was full: %s", e.said)
	}
}

// fill writes a file until the disk is full.
func fill(name string) (n int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for block := make([]byte, mega); err == nil; {
		var w int
		w, err = f.Write(block)
		n += int64(w)
	}
	return n, err
}
