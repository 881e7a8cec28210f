package mapreduce

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/model/fail"
)

// machine holds the names of a processor in ELF files, Go and Java.
type machine struct {
	elf    elf.Machine
	goarch string // GOARCH
	java   []string
}

var machines = []machine{
	{elf.EM_X86_64, "amd64", []string{"amd64", "x86_64"}},
	{elf.EM_AARCH64, "arm64", []string{"aarch64", "arm64"}},
	{elf.EM_PPC64, "ppc64le", []string{"ppc64le"}},
	{elf.EM_S390, "s390x", []string{"s390x"}},
	{elf.EM_RISCV, "riscv64", []string{"riscv64"}},
	{elf.EM_LOONGARCH, "loong64", []string{"loongarch64"}},
	{elf.EM_386, "386", []string{"i386", "i686", "x86"}},
	{elf.EM_ARM, "arm", []string{"arm"}},
}

// goarchOf converts Java's name of a processor to Go's. An unknown name stays the same.
func goarchOf(java string) string {
	for _, m := range machines {
		if slices.Contains(m.java, java) {
			return m.goarch
		}
	}
	return java
}

// Limits for querying nodes for their processors.
const (
	maxAsked = 64
	askers   = 8
	askTime  = 10 * time.Second
)

// checkNodes compares the processor of a program with the processors of the nodes. It returns an error if the program runs on none
// of the nodes that answer. Nodes that do not answer are ignored: a task on them gets an error of its own.
func (e *Engine) checkNodes(ctx context.Context, program string) error {
	ours, err := processorOf(program)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	nodes, err := e.yarn.Nodes(ctx)
	if err != nil {
		e.Events.Note("the processors of the nodes are unknown", "error", err)
		return nil
	}
	others := map[string][]string{} // nodes by processor
	same := 0
	for host, theirs := range processors(ctx, e.yarn, spread(nodes, maxAsked)) {
		if theirs = goarchOf(theirs); theirs == ours {
			same++
		} else {
			others[theirs] = append(others[theirs], host)
		}
	}
	if len(others) == 0 {
		return nil
	}
	var list []string
	for theirs, hosts := range others {
		slices.Sort(hosts)
		list = append(list, fmt.Sprintf("%s of %s", strings.Join(few(hosts, 3), ", "), theirs))
	}
	slices.Sort(list)
	if same > 0 {
		e.Events.Warn("nodes have another processor than this program: tasks fail there, and are tried elsewhere", "program", ours, "nodes", strings.Join(list, "; "))
		return nil
	}
	return fail.With(fail.Config, otherProcessor(ours, "nodes are "+strings.Join(list, "; "), mostFrequent(others)))
}

func mostFrequent(others map[string][]string) string {
	most := ""
	for theirs, hosts := range others {
		if n := len(hosts) - len(others[most]); most == "" || n > 0 || n == 0 && theirs < most {
			most = theirs
		}
	}
	return most
}

// otherProcessor returns the error for a program that nodes cannot run.
func otherProcessor(ours, nodes, theirs string) error {
	return fmt.Errorf("this program is for processors %s, and %s: take a build for them (CGO_ENABLED=0 GOOS=linux GOARCH=%s)", ours, nodes, theirs)
}

// processors queries nodes for their processors, at most askers at a time. The result has the nodes that answer, by host.
func processors(ctx context.Context, c *yarn.Client, nodes []yarn.Node) map[string]string {
	all := map[string]string{}
	var mu sync.Mutex
	_ = workers.Each(ctx, askers, len(nodes), func(ctx context.Context, i int) error {
		if theirs, err := c.Processor(ctx, nodes[i].HTTP); err == nil {
			mu.Lock()
			defer mu.Unlock()
			all[nodes[i].Host] = theirs
		}
		return nil
	})
	return all
}

// spread returns at most the given number of elements, evenly spread over a list.
func spread[T any](all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	some := make([]T, most)
	for i := range some {
		some[i] = all[i*len(all)/most]
	}
	return some
}

// few returns the first elements of a list, and the total number if there are more.
func few(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	return append(slices.Clone(all[:most]), fmt.Sprintf("… (%d in all)", len(all)))
}

// noExec is part of Java's message about a program for another processor: ENOEXEC.
const noExec = "Exec format error"

// cannotRun returns the error of an attempt whose node could not start the program; nil if it failed for another reason.
func (f *watcher) cannotRun(ctx context.Context, a yarn.Attempt, text string) error {
	if !strings.Contains(text, noExec) {
		return nil
	}
	theirs, err := f.yarn.Processor(ctx, a.Node)
	known := err == nil
	program := f.program
	if program == "" {
		program, _ = ownBinary()
	}
	ours, err := processorOf(program)
	if err != nil {
		ours = runtime.GOARCH
	}
	at := fmt.Sprintf("%s, where %s was to run it,", cmp.Or(a.Node, "the node"), a.ID)
	switch theirs = goarchOf(theirs); {
	case !known:
		return fail.Errorf(fail.Config, "this program is built for %s, but %s is different (%s): check the node (uname -m), and use a build for it", ours, at, noExec)
	case theirs == ours:
		return fail.Errorf(fail.Config, "%s could not start the program, though both are for %s: the file is incomplete or another one (%s)", at, ours, noExec)
	}
	return fail.With(fail.Config, otherProcessor(ours, at+" has "+theirs, theirs))
}

// ownBinary returns the path of the program that tasks run: this program, if it does not depend on the node's libraries.
func ownBinary() (string, error) {
	name, err := os.Executable()
	if err == nil {
		name, err = filepath.EvalSymlinks(name)
	}
	if err != nil {
		return "", fail.With(fail.Config, fmt.Errorf("find this program, which nodes run: %w", err))
	}
	return name, fail.With(fail.Config, checkBinary(name))
}

// checkBinary returns an error for a program that nodes may be unable to run.
func checkBinary(name string) error {
	f, err := elf.Open(name)
	if err != nil {
		return fmt.Errorf("%s cannot run on nodes, which run Linux: %w", name, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically, and nodes may lack its libraries: build it with CGO_ENABLED=0", name)
		}
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Errorf("%s is not a program", name)
	}
	return nil
}

// processorOf returns the processor that a program is built for, as a GOARCH.
func processorOf(name string) (string, error) {
	f, err := elf.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s cannot run on nodes, which run Linux: %w", name, err)
	}
	defer f.Close()
	for _, m := range machines {
		if m.elf == f.Machine {
			return m.goarch, nil
		}
	}
	return f.Machine.String(), nil
}
