package onyarn

import (
	"context"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// harms are the ways in which processes are disturbed during their work. Every job survives them without an action of
// its command.
var harms = []struct {
	name string
	do   func(*moment)
}{
	{"a mapper is killed", func(m *moment) { m.killWorker("map", 20*mega, 0) }},
	{"the JVM of a mapper is killed", func(m *moment) { m.killJVM("map", 0, 5*mega) }},
	{"a reducer is killed", func(m *moment) { m.killWorker("reduce", 0, 5*mega) }},
	{"the JVM of a reducer is killed", func(m *moment) { m.killJVM("reduce", 10*mega, 0) }},
	{"the ApplicationMaster is killed", func(m *moment) {
		if _, ok := m.work("reduce", 0, 2*mega); ok {
			if p, ok := m.java("MRAppMaster", ""); ok {
				m.signal(p, syscall.SIGKILL)
			}
		}
	}},
	{"a node dies", (*moment).killNode},
}

func (m *moment) killWorker(kind string, read, written int64) {
	if w, ok := m.work(kind, read, written); ok {
		m.signal(w.Process, syscall.SIGKILL)
	}
}

func (m *moment) killJVM(kind string, read, written int64) {
	if w, ok := m.work(kind, read, written); ok {
		if p, ok := m.java("YarnChild", w.Container); ok {
			m.signal(p, syscall.SIGKILL)
		}
	}
}

// killNode kills the node of a reducer: its NodeManager, which also has the output of maps, and all of its
// containers.
func (m *moment) killNode() {
	w, ok := m.work("reduce", 0, 2*mega)
	if !ok {
		return
	}
	if err := m.cluster.Daemon(w.Node).Kill(m.Context()); err != nil {
		m.Error(err)
		return
	}
	m.endLeft(w.Node)
	m.Logf("%s is dead", w.Node)
}

// mend starts nodes that have died.
func (s *site) mend() {
	s.Helper()
	for _, role := range s.cluster.Roles() {
		d := s.cluster.Daemon(role)
		if !strings.HasPrefix(string(role), string(testcluster.NodeManager)) || d.Pid() != 0 {
			continue
		}
		s.endLeft(role)
		if err := d.Restart(context.WithoutCancel(s.Context())); err != nil {
			s.Fatal(err)
		}
		if err := d.WaitReady(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
}

// harmed applies each harm to a new job.
func (s *site) harmed(input string, want []string) {
	for _, h := range harms {
		s.Run(h.name, func(t *testing.T) {
			s := s.in(t)
			into := s.table(10)
			defer s.mend()
			e := s.during(h.do, s.loading("check", into, input, "--maps", "2", "--reduces", "2")...)
			if e.code != 0 {
				t.Fatalf("it ends with %d: %s", e.code, e.said)
			}
			s.holds(into, want)
			s.attempts(e)
		})
	}
}

var applicationName = regexp.MustCompile(`application_[0-9]+_[0-9]+`)

// application returns the last application that a command has logged.
func (e ended) application() string {
	all := applicationName.FindAllString(e.said, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// attempts returns the failed attempts of a command's job, from the history.
func (s *site) attempts(e ended) (lost []yarn.Attempt) {
	s.Helper()
	c, id := s.asks(), e.application()
	var tasks []yarn.Task
	s.eventually("the history of "+id, func() (err error) {
		tasks, err = c.Tasks(s.Context(), id)
		return err
	})
	for _, task := range tasks {
		all, err := c.Attempts(s.Context(), id, task.ID)
		if err != nil {
			s.Fatal(err)
		}
		for _, a := range all {
			if a.State != "SUCCEEDED" {
				lost = append(lost, a)
				said, _, _ := strings.Cut(a.Diagnostics, "\n")
				s.Logf("%s: %s %s", a.ID, a.State, said)
			}
		}
	}
	return lost
}

// eventually repeats a function until it returns no error.
func (s *site) eventually(what string, ask func() error) {
	s.Helper()
	testcheck.Eventually(s, 3*time.Minute, what, func() (bool, any) {
		err := ask()
		return err == nil, err
	})
}
