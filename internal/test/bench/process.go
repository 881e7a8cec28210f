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

// Usage is what a child process and those that it waited for took.
type Usage struct {
	Wall time.Duration `json:"wall_ns"` // from before its start until it was waited for
	User time.Duration `json:"user_ns"`
	Sys  time.Duration `json:"sys_ns"`
	// PeakRSS is the greatest resident memory in bytes of any one of the processes.
	PeakRSS int64 `json:"peak_rss_bytes"`
	// Hidden is what the measuring process had when it started the child: a PeakRSS that is not greater is unknown.
	Hidden int64 `json:"hidden_rss_bytes"`
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.Sys }

// then returns the usage of two processes that ran one after the other.
func (u Usage) then(v Usage) Usage {
	return Usage{Wall: u.Wall + v.Wall, User: u.User + v.User, Sys: u.Sys + v.Sys, PeakRSS: max(u.PeakRSS, v.PeakRSS),
		Hidden: max(u.Hidden, v.Hidden)}
}

// usageOf reads what wait4 returned; getrusage(2) gives the peak in KiB on Linux.
func usageOf(wall time.Duration, ru *syscall.Rusage) Usage {
	return Usage{Wall: wall, User: time.Duration(ru.Utime.Nano()), Sys: time.Duration(ru.Stime.Nano()), PeakRSS: ru.Maxrss << 10}
}

// command is a child process to run to its end.
type command struct {
	argv []string
	dir  string   // default: this process's
	env  []string // default: this process's
}

// mostOutput bounds the error output that is kept; it is only for messages.
const mostOutput = 64 << 10

// run gives the standard output. Dirty pages of what ran before are written out first, so that none pays for another.
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

// name returns the program with the first argument that is not a flag, enough to see which command failed.
func (c command) name() string {
	name := filepath.Base(c.argv[0])
	for _, arg := range c.argv[1:] {
		if !strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "/:") {
			return name + " " + arg
		}
	}
	return name
}

// tail keeps the end of what is written to it.
type tail struct{ buf *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	t.buf.Next(max(0, t.buf.Len()-mostOutput))
	return len(p), nil
}

// forgetPeak has the kernel count this process's peak from now on, see clear_refs in proc(5). Where it cannot, ownPeak says
// the peak since the start.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// ownPeak returns the greatest resident memory that this process has had since forgetPeak, in bytes, or 0 when the kernel does not say.
func ownPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return kibField(b, "VmHWM:")
}

// kibField reads a line "name   123 kB" of a file of /proc as bytes, 0 when it is not there.
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
