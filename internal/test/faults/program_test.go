package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is one run of the program, in its own process group.
type process struct {
	pid    int
	done   chan struct{} // closed when it has ended
	stdout bytes.Buffer  // read them after done
	stderr bytes.Buffer
	exit   int // 128 plus the signal's number if a signal ended it
	err    error
}

// launch starts the program. The kernel kills it when this process ends.
func launch(argv, env []string, dir string) (*process, error) { return launchIn(argv, env, dir, 0) }

// launchIn starts the program in namespaces of its own.
func launchIn(argv, env []string, dir string, own uintptr) (*process, error) {
	p := &process{done: make(chan struct{})}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, &p.stdout, &p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Unshareflags: own}
	cmd.WaitDelay = 5 * time.Second
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread that started the child ends, so that thread must live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				p.exit = 128 + int(status.Signal())
			} else {
				p.exit = e.ExitCode()
			}
		} else if err != nil {
			p.exit, p.err = -1, err
		}
		close(p.done)
	}()
	return p, <-started
}

// signal signals the program, but never a later process with its id.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		syscall.Kill(p.pid, s)
	}
}

// freeze stops the program, and returns when it is stopped or has ended.
func (p *process) freeze(ctx context.Context) error {
	p.signal(syscall.SIGSTOP)
	for p.running() {
		if still, err := p.still(); still || err != nil {
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// still reports whether all threads of the program are stopped.
func (p *process) still() (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.pid))
	return !slices.ContainsFunc(threads, moves), err
}

// moves reports whether the thread of a file of /proc is not stopped.
func moves(stat string) bool {
	b, err := os.ReadFile(stat)
	_, state, _ := bytes.Cut(b, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// leftover reports whether a process of its group is alive.
func (p *process) leftover() bool { return syscall.Kill(-p.pid, 0) == nil }

const (
	// runLimit is the time limit of one run. A run waits for the lost response of a frozen server, and HBase takes
	// half a minute to recover a region server.
	runLimit = 6 * time.Minute
	// stopLimit is the time limit of stopping a run, including loads in flight.
	stopLimit = 90 * time.Second
)

// wait waits for the end. It stops a run that takes too long, and kills it if it does not stop.
func (p *process) wait(ctx context.Context) error {
	for _, step := range []struct {
		limit time.Duration
		then  syscall.Signal
	}{{runLimit, syscall.SIGTERM}, {stopLimit, syscall.SIGKILL}, {stopLimit, 0}} {
		timer := time.NewTimer(step.limit)
		select {
		case <-p.done:
			timer.Stop()
			if step.then != syscall.SIGTERM {
				return fmt.Errorf("the program did not end within %s and was stopped (exit code %d)", runLimit, p.exit)
			}
			return p.err
		case <-ctx.Done():
			timer.Stop()
			p.signal(syscall.SIGKILL)
			<-p.done
			return context.Cause(ctx)
		case <-timer.C:
			p.signal(syscall.SIGCONT)
			p.signal(step.then)
		}
	}
	return fmt.Errorf("the program's process %d cannot be killed", p.pid)
}

// lastError returns the program's last error message, or "" for a successful run.
func (p *process) lastError() string {
	if p.exit == 0 {
		return ""
	}
	text := "\n" + strings.TrimSpace(p.stderr.String())
	if i := strings.LastIndex(text, "\nbulkload: "); i >= 0 {
		text = text[i+1:]
	} else {
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	const most = 800
	return text[:min(len(text), most)]
}

// Trigger is the moment of a fault: After the event of the job's journal, or After the start of the run if Event is
// empty.
type Trigger struct {
	Event string
	After time.Duration
}

func (t Trigger) String() string {
	switch {
	case t.Event == "":
		return fmt.Sprintf("after %d ms", t.After.Milliseconds())
	case t.After == 0:
		return "at " + t.Event
	}
	return fmt.Sprintf("%d ms after %s", t.After.Milliseconds(), t.Event)
}

// wait returns true at that moment, or false if the program ended before.
func (t Trigger) wait(p *process, state string) bool {
	if t.Event != "" && !awaitEvent(p, state, t.Event) {
		return false
	}
	timer := time.NewTimer(t.After)
	defer timer.Stop()
	select {
	case <-p.done:
		return false
	case <-timer.C:
		return p.running()
	}
}

// journalPoll is the interval of reading the journal. A fault at an event is late by up to that time.
const journalPoll = time.Millisecond

// awaitEvent follows the one journal below a state directory until it has an event.
func awaitEvent(p *process, state, event string) bool {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	var text []byte
	for {
		if f == nil {
			if names, _ := filepath.Glob(filepath.Join(state, "*", "journal.jsonl")); len(names) > 0 {
				f, _ = os.Open(names[0])
			}
		}
		if f != nil {
			more, _ := io.ReadAll(f)
			text = append(text, more...)
			for {
				line, rest, ok := bytes.Cut(text, []byte{'\n'})
				if !ok {
					break
				}
				text = rest
				var record struct{ Event string }
				if json.Unmarshal(line, &record) == nil && record.Event == event {
					return true
				}
			}
		}
		timer := time.NewTimer(journalPoll)
		select {
		case <-p.done:
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// journaled reports whether the journal has an event about a file.
func (r *round) journaled(event, name string) bool {
	names, _ := filepath.Glob(filepath.Join(r.state, "*", "journal.jsonl"))
	for _, journal := range names {
		b, _ := os.ReadFile(journal)
		for line := range bytes.Lines(b) {
			if bytes.Contains(line, []byte(`"event":"`+event+`"`)) && bytes.Contains(line, []byte(path.Base(name))) {
				return true
			}
		}
	}
	return false
}

// events returns the events of the one journal below a state directory, in order.
func events(state string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(state, "*", "journal.jsonl"))
	if err != nil || len(names) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d journals below %s, want 1", len(names), state))
	}
	return eventsOf(names[0])
}

// eventsOf returns the events of a journal, in order.
func eventsOf(name string) ([]string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range bytes.Lines(b) {
		var record struct{ Event string }
		if err := json.Unmarshal(line, &record); err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, record.Event)
	}
	return all, nil
}
