package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
)

// Action is an action of an authorized client on a job.
type Action string

// The actions.
const (
	Pause  Action = "pause"
	Resume Action = "resume"
	Stop   Action = "stop"
	Start  Action = "start" // restart with the recorded command
	Clean  Action = "clean"
)

// Actions returns all actions, in the order of pages.
func Actions() []Action { return []Action{Pause, Resume, Stop, Start, Clean} }

// signals are the signals that a user at the command line would send to a process.
var signals = map[Action]syscall.Signal{Pause: syscall.SIGUSR1, Resume: syscall.SIGUSR2, Stop: syscall.SIGTERM}

// Refusal is the reason why an action is not performed on a job. The action may be safe elsewhere, or later.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// May returns the reason why an action is not possible on a job from here, or nil if it is possible.
func (p *Place) May(s *status.State, a Action) error {
	if !p.options.Control {
		return refuse("the console shows jobs only")
	}
	switch a {
	case Pause, Resume, Stop:
		process, err := processOf(s, signals[a])
		if err == nil {
			err = process.Release()
		}
		return err
	case Start:
		if _, err := s.Again(); err != nil {
			return refuse("%s", err)
		}
		return nil
	case Clean:
		if s.State == history.JobRunning {
			return refuse("the job runs")
		}
		if p.options.Clean == nil {
			return refuse("this console removes nothing")
		}
		return nil
	}
	return refuse("no such action")
}

// Do performs any action except Clean.
func (p *Place) Do(ctx context.Context, s *status.State, a Action) error {
	if err := p.May(s, a); err != nil {
		return err
	}
	if a == Start {
		c, err := s.Again()
		if err != nil {
			return refuse("%s", err)
		}
		return start(ctx, c, s.Dir, p.options.Patience)
	}
	process, err := processOf(s, signals[a])
	if err != nil {
		return err
	}
	if err := process.Signal(signals[a]); err != nil {
		err = refuse("the process %d took no signal: %s", s.PID, err)
		return errors.Join(err, process.Release())
	}
	return process.Release()
}

// Clean lists the files that clean would remove for a job, or removes them.
func (p *Place) Clean(ctx context.Context, s *status.State, remove bool) (*checkpoint.Cleaning, error) {
	if err := p.May(s, Clean); err != nil {
		return nil, err
	}
	return p.options.Clean(ctx, s.Job, remove)
}

// processOf finds the process that works on a job and handles a signal. The process must have the job's lock open, since process ids are
// reused. A process that can pause reports its progress in the state: undo cannot pause, and compare and export, which handle the signals,
// report no progress.
func processOf(s *status.State, signal syscall.Signal) (*os.Process, error) {
	host, err := os.Hostname()
	switch {
	case s.State != history.JobRunning:
		return nil, refuse("the job does not run")
	case err != nil:
		return nil, err
	case s.Host != host:
		return nil, refuse("the job runs on %s: a console or kill -%s %d there does it", s.Host, signalName(signal), s.PID)
	}
	if s.Live == nil && signal != syscall.SIGTERM {
		return nil, refuse("the process does not say how far it is, as work does that can be paused")
	}
	process, err := os.FindProcess(s.PID) // keeps a reference to the process where the system supports that
	if err != nil {
		return nil, refuse("there is no process %d", s.PID)
	}
	if err := holdsLock(s); err != nil {
		return nil, errors.Join(err, process.Release())
	}
	return process, nil
}

// holdsLock returns the reason why the process of a job does not appear to have the job's lock open.
func holdsLock(s *status.State) error {
	proc := filepath.Join("/proc", strconv.Itoa(s.PID))
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if errors.Is(err, os.ErrPermission) {
		return refuse("the process %d is of another user", s.PID)
	}
	lock, e := os.Stat(filepath.Join(s.Dir, journal.LockName))
	if err != nil || e != nil || !slices.ContainsFunc(open, func(fd os.DirEntry) bool {
		info, err := os.Stat(filepath.Join(proc, "fd", fd.Name()))
		return err == nil && os.SameFile(info, lock)
	}) {
		return refuse("the process %d does not hold the job's lock", s.PID)
	}
	return nil
}

func signalName(signal syscall.Signal) string {
	return map[syscall.Signal]string{syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2", syscall.SIGTERM: "TERM"}[signal]
}

// StartedLog is the file in a job's directory with the log of the last command that the console has started.
const StartedLog = "started.log"

// start runs a recorded command again, in its own session, so that it outlives the console. If the command ends at once with an error,
// start returns the last line of its log.
func start(ctx context.Context, c *status.Command, dir string, patience time.Duration) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, StartedLog)
	log, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, c.Args...) // no context: it must outlive the request
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = c.Dir, environment(c.Env), log, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return refuse("the command was not started: %s", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return refuse("the command ended with %s: %s", err, lastLine(name))
		}
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return nil
}

// environment returns this process's environment with the recorded variables. It leaves out this process's own
// settings, which are those of a service.
func environment(recorded map[string]string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if _, ok := recorded[name]; !ok && (!strings.HasPrefix(name, "BULKLOAD_") || strings.HasPrefix(name, "BULKLOAD_TEST_")) {
			env = append(env, v)
		}
	}
	for name, value := range recorded {
		env = append(env, name+"="+value)
	}
	return env
}

// lastLine returns the last line of a file, cut to the length of a message.
func lastLine(name string) string {
	const most = 400
	b, err := os.ReadFile(name)
	if err != nil {
		return "its log cannot be read"
	}
	b = bytes.TrimSpace(b)
	b = b[bytes.LastIndexByte(b, '\n')+1:]
	return strings.ToValidUTF8(string(b[:min(len(b), most)]), "")
}
