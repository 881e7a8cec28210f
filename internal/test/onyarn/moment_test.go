package onyarn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testcluster"
)

const mega = 1 << 20

// moment observes a job's containers while its command runs. Containers of earlier jobs do not count.
type moment struct {
	*site
	done chan struct{} // closed when the command has ended
	old  map[string]bool
}

// worker is the program in a container.
type worker struct {
	testcluster.Process
	attempt string // attempt_…_m_000001_0
}

// during runs a command to its end, and calls a function while it runs.
func (s *site) during(do func(*moment), args ...string) ended {
	s.Helper()
	m := s.moment()
	over := make(chan struct{})
	r := s.start(args...)
	go func() {
		defer close(over)
		do(m)
	}()
	e := r.wait()
	close(m.done)
	<-over
	return e
}

// moment begins before the command does.
func (s *site) moment() *moment {
	s.Helper()
	m := &moment{site: s, done: make(chan struct{}), old: map[string]bool{}}
	all, err := s.cluster.Containers()
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range all {
		m.old[job(p.Container)] = true
	}
	return m
}

var containerName = regexp.MustCompile(`^container_(?:e[0-9]+_)?([0-9]+_[0-9]+)_`)

// job returns the common part of the ids of an application, its job and its containers.
func job(container string) string {
	if m := containerName.FindStringSubmatch(container); m != nil {
		return m[1]
	}
	return container
}

// until repeats a check of the job's processes until it succeeds. If the command ends before, it returns false, and
// the test fails.
func (m *moment) until(what string, ask func(all []testcluster.Process) bool) bool {
	for {
		all, err := m.cluster.Containers()
		if err != nil {
			m.Error(err)
			return false
		}
		var own []testcluster.Process
		for _, p := range all {
			if !m.old[job(p.Container)] {
				own = append(own, p)
			}
		}
		if ask(own) {
			return true
		}
		select {
		case <-m.done:
			m.Errorf("the command ends before %s", what)
			return false
		case <-m.Context().Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// workers returns the programs among processes.
func workers(all []testcluster.Process) (found []worker) {
	for _, p := range all {
		if len(p.Command) != 3 || filepath.Base(p.Command[0]) != "bulkload" || p.Command[1] != "task" {
			continue
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Pid()))
		for kv := range strings.SplitSeq(string(environ), "\x00") {
			if id, ok := strings.CutPrefix(kv, "mapreduce_task_attempt_id="); ok {
				found = append(found, worker{p, id})
			}
		}
	}
	return found
}

// is reports whether the worker runs a map task, or else a reduce task.
func (w worker) is(kind string) bool { return w.Command[2] == kind }

// task returns the attempt without its number.
func (w worker) task() string { return w.attempt[:strings.LastIndexByte(w.attempt, '_')] }

// moved returns the number of bytes that a process has read and written so far: files, pipes and connections.
func moved(p testcluster.Process) (read, written int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Pid()))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "rchar":
			read = n
		case "wchar":
			written = n
		}
	}
	return read, written
}

// work waits for a worker of a kind that has read and written a number of bytes.
func (m *moment) work(kind string, read, written int64) (found worker, ok bool) {
	what := fmt.Sprintf("a %s has read %d bytes and written %d", kind, read, written)
	ok = m.until(what, func(all []testcluster.Process) bool {
		for _, w := range workers(all) {
			if r, n := moved(w.Process); w.is(kind) && r >= read && n >= written {
				found = w
				m.Logf("%s: %d bytes read, %d written", w.attempt, r, n)
				return true
			}
		}
		return false
	})
	return found, ok
}

// java waits for a JVM that runs a class, in one container or in any.
func (m *moment) java(class, container string) (found testcluster.Process, ok bool) {
	ok = m.until("a JVM of "+class, func(all []testcluster.Process) bool {
		for _, p := range all {
			if filepath.Base(p.Command[0]) == "java" && strings.Contains(strings.Join(p.Command, " "), class) && (container == "" || p.Container == container) {
				found = p
				return true
			}
		}
		return false
	})
	return found, ok
}

// signal signals a process that runs.
func (m *moment) signal(p testcluster.Process, sig syscall.Signal) bool {
	if err := p.Signal(sig); err != nil {
		m.Errorf("%v: %v", p.Command[0], err)
		return false
	}
	m.Logf("%s of %s: %v", filepath.Base(p.Command[0]), p.Container, sig)
	return true
}

// over waits for the end of a process.
func (s *site) over(p testcluster.Process) {
	s.Helper()
	s.eventually("the end of a process", func() error {
		if pid := p.Pid(); pid != 0 {
			return fmt.Errorf("%d of %s runs", pid, p.Container)
		}
		return nil
	})
}

// endLeft kills the remaining processes of a dead node's containers.
func (s *site) endLeft(node testcluster.Role) {
	s.Helper()
	all, err := s.cluster.Containers()
	if err != nil {
		s.Error(err)
	}
	for _, p := range all {
		if p.Node == node {
			if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
				s.Error(err)
			}
		}
	}
}
