package onyarn

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/test/testcluster"
)

// client kills the command after records of its journal, and repeats it.
func (s *site) client(input string, want []string) {
	for _, event := range []string{"submitting", "submitted", "written:3", "built"} {
		s.Run("killed after "+event, func(t *testing.T) {
			s := s.in(t)
			into := s.table(10)
			args := s.loading("check", into, input, "--maps", "2", "--reduces", "2")
			if e := s.with("BULKLOAD_TEST_STOP_AFTER=" + event).do(args...); e.code != -1 {
				t.Fatalf("it ends with %d: %s", e.code, e.said)
			}
			e := s.must(args...)
			if event == "submitted" && !strings.Contains(e.said, "attached to the application") {
				t.Errorf("it does not say that it attached: %s", e.said)
			}
			s.holds(into, want)
		})
	}
}

// asked is the exit code of a command that SIGTERM has stopped.
const asked = 143

// signaled stops the command by SIGTERM.
func (s *site) signaled(input string, want []string) {
	for _, c := range []struct {
		name, onStop string
		state        yarn.State // state of the first application afterwards
		again        string     // output of the same command afterwards
	}{
		{"while maps run", "detach", yarn.Finished, "attached to the application"},
		{"while maps run, and to end the job", "kill", yarn.KilledApp, "submitting to YARN"},
	} {
		s.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			into := s.table(10)
			args := s.loading("check", into, input, "--maps", "2", "--reduces", "2", "--on-stop", c.onStop)
			m := s.moment()
			r := s.start(args...)
			m.work("map", 5*mega, 0)
			first := s.terminate(r)
			again := s.must(args...)
			if !strings.Contains(again.said, c.again) {
				t.Errorf("the same command does not say %q: %s", c.again, again.said)
			}
			app, err := s.asks().Application(t.Context(), first.application())
			if err != nil || app.State != c.state {
				t.Errorf("the first application is %+v, %v; want %s", app, err, c.state)
			}
			if same := first.application() == again.application(); same != (c.onStop == "detach") {
				t.Errorf("%s, and then %s", first.application(), again.application())
			}
			s.holds(into, want)
		})
	}
	s.Run("the ResourceManager starts again", func(t *testing.T) { s.in(t).managerStarts(input, want) })
	s.Run("given up", func(t *testing.T) { s.in(t).givenUp(input) })
	// Hadoop's client is running then. The same command determines whether it has submitted the job.
	s.Run("while it submits", func(t *testing.T) {
		s := s.in(t)
		into := s.table(10)
		args := s.loading("check", into, input, "--maps", "2", "--reduces", "2")
		r := s.start(args...)
		s.eventually("the submission", func() error {
			if !strings.Contains(r.said.String(), "submitting to YARN") {
				return errors.New("it has not begun")
			}
			return nil
		})
		s.terminate(r)
		s.must(args...)
		s.holds(into, want)
	})
}

// managerStarts kills the command and then the ResourceManager, which forgets the application, and repeats the command.
func (s *site) managerStarts(input string, want []string) {
	into := s.table(10)
	args := s.loading("check", into, input, "--maps", "2", "--reduces", "2")
	first := s.with("BULKLOAD_TEST_STOP_AFTER=submitted").do(args...)
	manager := s.cluster.Daemon(testcluster.ResourceManager)
	if err := errors.Join(manager.Restart(s.Context()), manager.WaitReady(s.Context())); err != nil || first.code != -1 {
		s.Fatalf("it ends with %d, %v: %s", first.code, err, first.said)
	}
	if e := s.must(args...); !strings.Contains(e.said, "the ResourceManager was started again") {
		s.Errorf("it does not say why it submits again: %s", e.said)
	}
	s.holds(into, want)
}

// givenUp checks that clean ends the application of an abandoned job, and removes its files.
func (s *site) givenUp(input string) {
	state := s.TempDir()
	args := s.loading("check", s.table(10), input, "--maps", "2", "--reduces", "2", "--on-stop", "detach", "--state", state)
	m := s.moment()
	r := s.start(args...)
	m.work("map", 5*mega, 0)
	first := s.terminate(r)
	jobs, err := status.ReadAll(state)
	if err != nil || len(jobs) != 1 || !slices.ContainsFunc(jobs[0].Resources, func(r history.Resource) bool { return r.Kind == history.ResourceYARN }) {
		s.Fatalf("jobs %+v, %v", jobs, err)
	}
	s.must("clean", "--state", state, "--job", jobs[0].Job, "--yes")
	app, err := s.asks().Application(s.Context(), first.application())
	if err != nil || app.State != yarn.KilledApp {
		s.Errorf("the application is %+v, %v", app, err)
	}
	if _, err := status.Read(jobs[0].Dir); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("its directory: %v", err)
	}
}

// terminate stops a command by SIGTERM.
func (s *site) terminate(r *running) ended {
	s.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Error(err)
	}
	e := r.wait()
	if e.code != asked {
		s.Fatal(fmt.Errorf("it ends with %d, want %d: %s", e.code, asked, e.said))
	}
	return e
}
