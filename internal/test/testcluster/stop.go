package testcluster

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// Close releases this process's resources of the cluster. The daemons of a detached cluster continue to run. Those of
// any other cluster also continue until Stop, or until the process that started them ends.
func (c *Cluster) Close() {
	c.mu.Lock()
	admins := append(slices.Collect(maps.Values(c.admins)), c.prober)
	c.admins, c.prober = nil, nil
	already := c.stopped
	c.stopped = true
	c.mu.Unlock()
	if already {
		return
	}
	for _, a := range admins {
		if a != nil {
			a.close()
		}
	}
	c.spawner.close()
}

// stopGrace is the time for the daemons to end after SIGTERM. Their data are discarded, so it is only long enough for
// those that end at once.
const stopGrace = time.Second

// Stop ends every daemon and returns when all are gone; it removes a temporary directory. A second call does nothing.
func (c *Cluster) Stop() error {
	c.Close()
	var err error
	if c.state != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = c.state.end(ctx)
	}
	if c.temporary != "" {
		err = errors.Join(err, os.RemoveAll(c.temporary))
	}
	if c.unlock != nil {
		c.unlock()
	}
	return err
}

// end ends the recorded processes and the containers.
func (s *state) end(ctx context.Context) error {
	var ids []identity
	for _, role := range s.running() {
		ids = append(ids, s.Daemons[role].identity)
	}
	return errors.Join(endProcesses(ctx, ids), endContainers(ctx, layout{s.Dir}.nodes()))
}

// endProcesses sends SIGTERM to all processes, waits for stopGrace, and kills the rest.
func endProcesses(ctx context.Context, ids []identity) error {
	var err error
	note := func(e error) {
		if e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, e)
		}
	}
	for _, id := range ids {
		note(id.signal(syscall.SIGTERM))
		note(id.signal(syscall.SIGCONT)) // a paused process does not handle SIGTERM
	}
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for _, id := range ids {
		if id.wait(grace) != nil {
			note(id.signal(syscall.SIGKILL))
		}
	}
	for _, id := range ids {
		note(id.wait(ctx))
	}
	return err
}
