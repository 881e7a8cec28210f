package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the resource usage of a child process and of the processes that it waited for.
type Usage struct {
	Wall time.Duration `json:"wall_ns"` // from before its start until the wait returns
	User time.Duration `json:"user_ns"`
	Sys  time.Duration `json:"sys_ns"`
	// PeakRSS is the greatest resident memory in bytes of any of the processes.
	PeakRSS int64 `json:"peak_rss_bytes"`
	// Hidden is the memory of the measuring process when it started the child: a PeakRSS that is not greater is
	// unknown.
	Hidden int64 `json:"hidden_rss_bytes"`
}

// CPU returns the sum of user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.Sys }

// then returns the usage of two processes that ran in sequence.
func (u Usage) then(v Usage) Usage {
	return Usage{Wall: u.Wall + v.Wall, User: u.User + v.User, Sys: u.Sys + v.Sys, PeakRSS: max(u.PeakRSS, v.PeakRSS),
		Hidden: max(u.Hidden, v.Hidden)}
}

// usageOf converts the result of wait4; getrusage(2) gives the peak in KiB on Linux.
func usageOf(wall time.Duration, ru *syscall.Rusage) Usage {
	return Usage{Wall: wall, User: time.Duration(ru.Utime.Nano()), Sys: time.Duration(ru.Stime.Nano()), PeakRSS: ru.Maxrss << 10}
}

// command is a child process.
type command struct {
	argv []string
	dir  string   // default: this process's
	env  []string // default: this process's
}

// maxOutput limits the error output that is kept for messages.
const maxOutput = 64 << 10

// run returns the standard output. It first writes dirty pages of earlier processes to disk, so that this process
// does not pay for them.
func (c command) run(ctx context.Context) ([]byte, Usage, error) {
	unix.Sync()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, &stdout, &tail{buf: &stderr}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	forgetPeak()
	start := time.Now()
	err := cmd.Start()
	hidden := ownPeak()
	if err == nil {
		err = cmd.Wait()
	}
	wall := time.Since(start)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
		return nil, Usage{}, fmt.Errorf("%s: %w\n%s", c.name(), err, strings.TrimSpace(stderr.String()))
	}
	usage := usageOf(wall, cmd.ProcessState.SysUsage().(*syscall.Rusage))
	usage.Hidden = hidden
	return stdout.Bytes(), usage, nil
}

// name returns the program and its first argument that is not a flag, enough to identify the command.
func (c command) name() string {
	name := filepath.Base(c.argv[0])
	for _, arg := range c.argv[1:] {
		if !strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "/:") {
			return name + " " + arg
		}
	}
	return name
}

// tail keeps the end of the text written to it.
type tail struct{ buf *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	t.buf.Next(max(0, t.buf.Len()-maxOutput))
	return len(p), nil
}

// forgetPeak makes the kernel measure this process's peak from now on, see clear_refs in proc(5). If that fails, ownPeak
// returns the peak since the start.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// ownPeak returns the greatest resident memory of this process since forgetPeak, in bytes, or 0 if the kernel does
// not report it.
func ownPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return kibField(b, "VmHWM:")
}

// kibField returns the value of a line "name   123 kB" of a file of /proc in bytes, or 0 if there is no such line.
func kibField(b []byte, name string) int64 {
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var kib int64
			fmt.Sscan(rest, &kib)
			return kib << 10
		}
	}
	return 0
}
