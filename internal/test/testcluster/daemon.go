package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"bulkload/internal/base/retry"
)

// logTail is the number of log lines at the end of an error about a daemon.
const logTail = 30

var errStopped = errors.New("the test cluster is stopped")

// Daemon is the handle of one daemon; it stays the same after Restart, when the process is another one.
type Daemon struct {
	cluster *Cluster
	role    Role
}

// Role returns the daemon's role.
func (d *Daemon) Role() Role { return d.role }

// LogPath returns the file with the daemon's output, including that of earlier processes.
func (d *Daemon) LogPath() string { return d.cluster.layout.log(d.role) }

// Pid returns the id of the running process, or 0 if there is none.
func (d *Daemon) Pid() int {
	if id := d.current(); id.alive() {
		return id.Pid
	}
	return 0
}

func (d *Daemon) current() identity {
	d.cluster.mu.Lock()
	defer d.cluster.mu.Unlock()
	return d.cluster.state.Daemons[d.role].identity
}

// Kill sends SIGKILL and returns when the process is gone. If the daemon does not run, that is not an error.
func (d *Daemon) Kill(ctx context.Context) error { return d.end(ctx, syscall.SIGKILL) }

// Terminate sends SIGTERM, which lets the daemon close its resources, and returns when the process is gone. If the
// daemon does not run, that is not an error.
func (d *Daemon) Terminate(ctx context.Context) error { return d.end(ctx, syscall.SIGTERM) }

func (d *Daemon) end(ctx context.Context, sig syscall.Signal) error {
	id := d.current()
	err := id.signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err == nil {
		err = id.wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", d.role, err)
	}
	d.cluster.log.DebugContext(ctx, "daemon ended", "role", d.role, "pid", id.Pid, "signal", sig.String())
	return nil
}

// Pause stops the process (SIGSTOP), and returns when all its threads have stopped: its sockets stay open and nothing
// answers.
func (d *Daemon) Pause() error {
	if err := d.current().pause(); err != nil {
		return fmt.Errorf("pause %s: %w", d.role, err)
	}
	return nil
}

// Resume lets a paused process continue.
func (d *Daemon) Resume() error {
	if err := d.current().signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resume %s: %w", d.role, err)
	}
	return nil
}

// Restart kills the process, if there is one, and starts another one with the same ports and data. It does not wait
// until the new one serves: see WaitReady.
func (d *Daemon) Restart(ctx context.Context) error {
	if err := d.Kill(ctx); err != nil {
		return err
	}
	return d.cluster.spawn(ctx, d.role, d.cluster.command(d.role))
}

// WaitReady waits until the daemon serves: a NameNode out of safe mode, a DataNode known to it, a ZooKeeper that
// answers, an initialised master, a region server whose current process the master knows, with hbase:meta open and no
// crash of an earlier process in recovery. HBase's daemons must also be in contact with ZooKeeper, so that no session
// is about to expire. It returns early if the process is gone. Without a deadline in ctx, Options.StartTimeout
// applies.
func (d *Daemon) WaitReady(ctx context.Context) error {
	ctx, cancel := d.cluster.bounded(ctx)
	defer cancel()
	start, last := time.Now(), ""
	for {
		err := d.Probe(ctx)
		if err == nil {
			d.cluster.log.DebugContext(ctx, "daemon ready", "role", d.role, "after", time.Since(start))
			return nil
		}
		if errors.Is(err, os.ErrProcessDone) {
			return d.failed(err)
		}
		if text := err.Error(); text != last {
			last = text
			d.cluster.log.DebugContext(ctx, "daemon not ready yet", "role", d.role, "why", text)
		}
		if late := retry.Sleep(ctx, d.cluster.state.Security.pollEvery()); late != nil {
			return d.failed(errors.Join(err, late))
		}
	}
}

// probeTimeout is the time limit of one exchange of a probe: a paused daemon accepts connections and does not answer.
const probeTimeout = 2 * time.Second

// Probe checks once whether the daemon serves, in the sense of WaitReady. The error describes what is missing; it is
// os.ErrProcessDone if there is no process.
func (d *Daemon) Probe(ctx context.Context) error {
	if !d.current().alive() {
		return os.ErrProcessDone
	}
	limit := probeTimeout
	if d.cluster.state.Security.secured() && d.role.part() == ofHBase {
		limit = secureProbeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	kind, ok := kinds[d.role.base()]
	if !ok {
		return fmt.Errorf("no role %q", d.role)
	}
	return kind.probe(d.cluster, ctx, d.role)
}

func (d *Daemon) failed(err error) error {
	return fmt.Errorf("%s of the test cluster: %w\nend of %s:\n%s", d.role, err, d.LogPath(), tailFile(d.LogPath(), logTail))
}

// tailFile reads at most the last 64 KiB.
func tailFile(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(data), lines)
}

// spawn starts the process of a role and records it.
func (c *Cluster) spawn(ctx context.Context, role Role, argv []string) error {
	logFile, err := os.OpenFile(c.layout.log(role), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.layout.dir, c.daemonEnvironment(), logFile, logFile

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errStopped
	}
	now := time.Now().UnixMilli()
	if c.state.Detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = cmd.Start()
	} else {
		err = c.spawner.start(cmd)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", role, err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", role, err), cmd.Process.Kill(), cmd.Wait())
	}
	go cmd.Wait() // otherwise it stays a zombie when it ends; its log has the reason of its end
	c.state.Daemons[role] = &daemonState{identity: id, StartedMS: now, Command: argv}
	c.log.DebugContext(ctx, "daemon started", "role", role, "pid", id.Pid)
	return c.state.write()
}
