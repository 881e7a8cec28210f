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

	"bulkload/internal/base/retry"
)

// Process is a process of a container: its shell, its JVM, or a process that these have started.
type Process struct {
	id identity
	// Container is its container_… id, or "" if it is not known.
	Container string
	// Node is the NodeManager whose directory is its working directory, or "".
	Node Role
	// Command is the process's arguments.
	Command []string
}

// Pid returns the process id, or 0 if the process has ended.
func (p Process) Pid() int {
	if p.id.alive() {
		return p.id.Pid
	}
	return 0
}

// Signal sends a signal to exactly this process. It returns os.ErrProcessDone if the process has ended.
func (p Process) Signal(sig syscall.Signal) error { return p.id.signal(sig) }

// Containers returns the processes of all running containers, in no order. They survive when their NodeManager is
// killed.
func (c *Cluster) Containers() ([]Process, error) { return containersBelow(c.layout.nodes()) }

// NodeDir returns the directory of a NodeManager, with local, the working directories of containers, and logs.
func (c *Cluster) NodeDir(role Role) string { return c.layout.node(role) }

// containersBelow returns the processes whose working directory is in a NodeManager's directory, or whose environment
// names it. Containers have their own sessions and no lasting parent, so there is no other way to find all of them.
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

// endContainers kills the remaining containers when nothing can start others any more.
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
			// A process that has ended meanwhile is fine.
			_ = p.Signal(syscall.SIGKILL)
		}
		if err := retry.Sleep(ctx, pollEvery/10); err != nil {
			pids := make([]int, len(left))
			for i, p := range left {
				pids[i] = p.id.Pid
			}
			slices.Sort(pids)
			return fmt.Errorf("processes %v of containers still run: %w", pids, err)
		}
	}
}
