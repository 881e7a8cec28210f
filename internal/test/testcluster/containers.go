package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a process of a container: its shell, its JVM, or what these have started.
type Process struct {
	id identity
	// Container is its container_… id, empty where the process does not say.
	Container string
	// Node is the NodeManager in whose directory it works, empty where it works elsewhere.
	Node Role
	// Command is its arguments.
	Command []string
}

// Pid returns the process, 0 when it has ended.
func (p Process) Pid() int {
	if p.id.alive() {
		return p.id.Pid
	}
	return 0
}

// Signal sends a signal to exactly this process; os.ErrProcessDone when it has ended.
func (p Process) Signal(sig syscall.Signal) error { return p.id.signal(sig) }

// Containers returns the processes of all containers that run, in no order. They outlive their NodeManager when that is killed.
func (c *Cluster) Containers() ([]Process, error) { return containersBelow(c.layout.nodes()) }

// NodeDir returns the directory of a NodeManager, with local for what containers work with, and logs.
func (c *Cluster) NodeDir(role Role) string { return c.layout.node(role) }

// containersBelow finds the processes that work in a NodeManager's directory, or whose environment names it. Containers
// have sessions of their own and no parent that lasts, so nothing else finds all of them.
func containersBelow(nodes string) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd")) // Another user's, or gone.
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !strings.HasPrefix(cwd, nodes+"/") && !bytes.Contains(env, []byte("="+nodes+"/")) {
			continue
		}
		id, err := identify(pid)
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p := Process{id: id, Command: strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")}
		if below, ok := strings.CutPrefix(cwd, nodes+"/"); ok {
			node, _, _ := strings.Cut(below, "/")
			p.Node = Role(node)
		}
		for part := range strings.SplitSeq(cwd, "/") {
			if strings.HasPrefix(part, "container_") {
				p.Container = part
			}
		}
		if id.alive() {
			found = append(found, p)
		}
	}
	return found, nil
}

// endContainers kills what is left of containers when nothing starts others any more.
func endContainers(ctx context.Context, nodes string) error {
	if _, err := os.Stat(nodes); err != nil {
		return nil // No YARN.
	}
	for {
		left, err := containersBelow(nodes)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, p := range left {
			// One that has ended meanwhile is what is wanted.
			_ = p.Signal(syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			pids := make([]int, len(left))
			for i, p := range left {
				pids[i] = p.id.Pid
			}
			slices.Sort(pids)
			return fmt.Errorf("processes %v of containers still run: %w", pids, context.Cause(ctx))
		case <-time.After(pollEvery / 10):
		}
	}
}
