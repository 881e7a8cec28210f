package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/base/retry"
)

// pollEvery is the polling interval.
const pollEvery = 100 * time.Millisecond

// identity distinguishes a process from a later one with the same pid.
type identity struct {
	Pid int `json:"pid"`
	// StartTicks is the start time since boot, field 22 of /proc/PID/stat.
	StartTicks uint64 `json:"start_ticks"`
	// Boot is the kernel's boot id: ticks count from a boot.
	Boot string `json:"boot"`
}

func identify(pid int) (identity, error) {
	ticks, _, err := processStat(pid)
	if err != nil {
		return identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, err
	}
	return identity{Pid: pid, StartTicks: ticks, Boot: strings.TrimSpace(string(boot))}, nil
}

// alive returns false for a zombie too: it holds no resources.
func (id identity) alive() bool {
	if id.Pid <= 0 {
		return false
	}
	now, err := identify(id.Pid)
	if err != nil || now != id {
		return false
	}
	_, state, err := processStat(id.Pid)
	return err == nil && state != 'Z' && state != 'X'
}

// signal reaches exactly this process or none: it takes the handle first, and then compares the identity, so that it
// never hits a reused pid.
func (id identity) signal(sig syscall.Signal) error {
	p, err := os.FindProcess(id.Pid)
	if err != nil {
		return os.ErrProcessDone
	}
	defer p.Release()
	if !id.alive() {
		return os.ErrProcessDone
	}
	return p.Signal(sig)
}

// pauseLimit is the time limit for the threads of a process to stop.
const pauseLimit = 30 * time.Second

// pause sends SIGSTOP and returns when every thread has stopped: the system call returns while threads on other
// processors continue for a short time, long enough to answer a request.
func (id identity) pause() error {
	if err := id.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(pauseLimit); ; {
		running, err := id.running()
		if err != nil || running == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d: %d threads still run %s after SIGSTOP", id.Pid, running, pauseLimit)
		}
		time.Sleep(pollEvery / 100)
	}
}

// running counts the threads that are neither stopped nor gone.
func (id identity) running() (int, error) {
	dir := "/proc/" + strconv.Itoa(id.Pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, os.ErrProcessDone
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, task := range tasks {
		_, state, err := readStat(dir + "/" + task.Name() + "/stat")
		switch {
		case errors.Is(err, os.ErrProcessDone):
		case err != nil:
			return 0, err
		case state != 'T' && state != 'Z' && state != 'X':
			n++
		}
	}
	return n, nil
}

// wait returns when the process is gone.
func (id identity) wait(ctx context.Context) error {
	for id.alive() {
		if err := retry.Sleep(ctx, pollEvery/10); err != nil {
			return fmt.Errorf("process %d still runs: %w", id.Pid, err)
		}
	}
	return nil
}

func processStat(pid int) (startTicks uint64, state byte, err error) {
	return readStat("/proc/" + strconv.Itoa(pid) + "/stat")
}

// readStat reads the stat file of a process or of a thread. It returns os.ErrProcessDone if that is gone.
func readStat(path string) (startTicks uint64, state byte, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0, 0, os.ErrProcessDone
	}
	if err != nil {
		return 0, 0, err
	}
	startTicks, state, err = parseStat(data)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return startTicks, state, nil
}

// parseStat returns fields 3 and 22 of /proc/PID/stat.
func parseStat(data []byte) (startTicks uint64, state byte, err error) {
	// The second field is the program's name in parentheses, which may hold spaces and parentheses.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("%d fields after the name, 20 needed", len(fields))
	}
	startTicks, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("start time: %w", err)
	}
	return startTicks, fields[0][0], nil
}

// spawner starts processes from one OS thread that lives until close: PR_SET_PDEATHSIG, with which the kernel kills
// them when this process ends, fires at the end of the forking thread, not of the process.
type spawner struct {
	requests chan func()
	done     chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case f := <-s.requests:
				f()
			case <-s.done:
				return
			}
		}
	}()
	return s
}

// start is cmd.Start with a new process group and a SIGKILL when this process dies.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error, 1)
	select {
	case s.requests <- func() { result <- cmd.Start() }:
		return <-result
	case <-s.done:
		return errStopped
	}
}

func (s *spawner) close() { close(s.done) }

// output runs a command to its end and returns its standard output. A nil stdin is empty.
func (s *spawner) output(ctx context.Context, stdin io.Reader, argv, env []string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdin, &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if err := s.start(cmd); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
		return stdout.String(), fmt.Errorf("%w\n%s", err, lastLines(stderr.String(), logTail))
	}
	return stdout.String(), nil
}
