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

// Close gives back what this process has of the cluster and leaves the daemons of a detached one
// running. Those of a cluster that is not detached are stopped by Stop only, or by the end of the
// process that started them.
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

// stopGrace is the time that the daemons have after SIGTERM. Their data is discarded, so it is only
// long enough for those that end at once.
const stopGrace = time.Second

// Stop ends every daemon and returns when all are gone; a temporary directory is removed. A second call
// does nothing.
func (c *Cluster) Stop() error {
	c.Close()
	var err error
	if c.state != nil {
		err = c.endAll()
	}
	if c.temporary != "" {
		err = errors.Join(err, os.RemoveAll(c.temporary))
	}
	if c.unlock != nil {
		c.unlock()
	}
	return err
}

func (c *Cluster) endAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c.mu.Lock()
	var living []identity
	for _, role := range c.state.running() {
		living = append(living, c.state.Daemons[role].identity)
	}
	c.mu.Unlock()
	return errors.Join(endProcesses(ctx, living), endContainers(ctx, c.layout.nodes()))
}

// endProcesses asks all, waits for stopGrace, kills the rest.
func endProcesses(ctx context.Context, ids []identity) error {
	var err error
	note := func(e error) {
		if e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, e)
		}
	}
	for _, id := range ids {
		note(id.signal(syscall.SIGTERM))
		note(id.signal(syscall.SIGCONT)) // A paused process takes no SIGTERM.
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
