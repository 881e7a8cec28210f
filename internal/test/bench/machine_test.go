package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine describes the conditions of a result besides the program.
type Machine struct {
	Cores  int    `json:"cores"`
	CPU    string `json:"cpu,omitempty"`
	Memory int64  `json:"memory_bytes"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Commit string `json:"commit,omitempty"` // ends in +changes when files differ from it
	// Load is the average number of runnable processes in the minute before the start: with more than about 0.2 the machine
	// is not quiet.
	Load float64 `json:"load_before"`
}

// LookAtMachine collects the data; values that cannot be determined stay empty. root is the checkout.
func LookAtMachine(ctx context.Context, root string) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = kibField(b, "MemTotal:")
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = cpuModel(string(b))
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(b), &m.Load)
	}
	git := func(args ...string) (string, error) {
		// Without optional locks git only reads.
		out, err := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if commit, err := git("rev-parse", "--short=12", "HEAD"); err == nil {
		m.Commit = commit
		if changes, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changes != "" {
			m.Commit += "+changes"
		}
	}
	return m
}

func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String returns one sentence.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (%s), %.1f GiB of memory, Linux %s, %s, commit %s, load before the start %.2f.",
		m.Cores, m.CPU, float64(m.Memory)/(1<<30), m.Kernel, m.Go, m.Commit, m.Load)
}
