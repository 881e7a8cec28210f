package build

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition/extsort"
)

// Environment variables of TestLimitChild: the limit to exceed, and the input.
const (
	limitEnv      = "BULKLOAD_TEST_LIMIT"
	limitInputEnv = "BULKLOAD_TEST_LIMIT_INPUT"
)

// TestLimits builds in processes whose resources do not suffice. The error
// names the resource and the remedy.
func TestLimits(t *testing.T) {
	race.Plain(t)
	input := jobtest.WideInput(t, 100_000)
	for _, c := range []struct {
		limit string
		attr  *syscall.SysProcAttr
		want  []string
	}{
		{"spill disk", jobtest.OwnMounts(), []string{"no space left on device", "full of sorted rows", "bytes are free", "`spill_dir`"}},
		{"spill disk by a relative name", jobtest.OwnMounts(), []string{"no space left on device", "full of sorted rows", "bytes are free", "`spill_dir`"}},
		{"stream disk", jobtest.OwnMounts(), []string{"no space left on device", "standard input is copied to", "bytes are free", "`spill_dir`"}},
		{"spill directory", nil, []string{"create a run for the sort", "sorted rows cannot be written to or read from", "`spill_dir`"}},
		{"output disk", jobtest.OwnMounts(), []string{"no space left on device", "bytes are free", "make room there, or name another directory"}},
		{"address space", nil, []string{"memory of 1TiB needs an address space of", "this process may have", "ulimit -v", "`memory`"}},
		{"file size", nil, []string{"file too large", "ulimit -f", "LimitFSIZE"}},
		{"open files", nil, []string{"too many open files", "this process may open", "ulimit -n", "LimitNOFILE"}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestLimitChild$", "-test.v")
			cmd.Env = append(os.Environ(), limitEnv+"="+c.limit, limitInputEnv+"="+input)
			cmd.SysProcAttr = c.attr
			out, err := cmd.CombinedOutput()
			if err != nil && (errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "mount:")) {
				t.Skipf("this system gives no user a mount of its own: %v\n%s", err, out)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, message, _ := strings.Cut(string(out), "build: ")
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("no %q in: %s", want, message)
				}
			}
			message, _, _ = strings.Cut(message, "\n")
			if n := strings.Count(message, "make room"); strings.Contains(message, "no space left") && n != 1 || strings.Contains(message, ".1: write ") {
				t.Errorf("advice %d times, or a path twice: %s", n, message)
			}
			kind := fail.HDFS
			if c.limit == "address space" {
				kind = fail.Config
			}
			if !strings.HasPrefix(message, fmt.Sprintf("kind %d: ", kind)) {
				t.Errorf("another kind: %s", message)
			}
		})
	}
}

// TestLimitChild is the process with the limit.
func TestLimitChild(t *testing.T) {
	limit := os.Getenv(limitEnv)
	if limit == "" {
		t.Skip("part of TestLimits")
	}
	small := func() string {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
			t.Fatalf("mount: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
		return dir
	}
	out := Output{FS: hdfsio.Local{}, Dir: t.TempDir(), Retry: quickRetry}
	w := WorkOptions{Workers: 2, Memory: 16 << 20, SpillDir: t.TempDir()}
	input := os.Getenv(limitInputEnv)
	switch limit {
	case "stream disk":
		data, err := os.ReadFile(input)
		if err != nil {
			t.Fatal(err)
		}
		w.SpillDir, w.Stdin, input = small(), piped(t, data), "-"
	case "spill disk":
		w.SpillDir = small()
	case "spill disk by a relative name":
		dir := small()
		t.Chdir(filepath.Dir(dir))
		w.SpillDir = filepath.Base(dir)
	case "spill directory":
		w.SpillDir = filepath.Join(w.SpillDir, "missing")
	case "output disk":
		out.Dir = small()
	case "address space":
		most := syscall.Rlimit{Cur: 65 << 30, Max: 65 << 30}
		w.Memory = 1 << 40
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &most); err != nil {
			t.Fatal(err)
		}
	case "file size":
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}); err != nil {
			t.Fatal(err)
		}
	case "open files":
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		// Enough to read and to spill, and too few for the 22 runs that one worker has with so little memory. Two runs may be read to
		// their ends, and closed, before a third file is opened.
		w.Workers, w.Memory = 1, 6<<20
		most := syscall.Rlimit{Cur: uint64(len(open) + 3), Max: uint64(len(open) + 3)}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
			t.Fatal(err)
		}
	}
	if limit == "stream disk" {
		_, err := OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, jobtest.CSVSpec(input)), w)
		fmt.Printf("build: kind %d: %v\n", fail.KindOf(err), err)
		return
	}
	_, err := buildInto(t.Context(), t, jobtest.Env(t), input, out, w)
	if err == nil {
		t.Fatal("the build went through")
	}
	fmt.Printf("build: kind %d: %v\n", fail.KindOf(err), err)
}

// TestFullDiskBelowTheSpillDirectory checks that sorted rows are the cause only if their files were written: a reject file, on a disk mounted below
// the spill directory, is not one of them.
func TestFullDiskBelowTheSpillDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, sorted := range map[string]bool{"mnt/.rej.3987515183": false, "bulkload-run-1": true} {
		err := explainLimits(fail.With(fail.HDFS, &os.PathError{Op: "write", Path: filepath.Join(dir, name), Err: syscall.ENOSPC}), Options{SpillDir: dir})
		if strings.Contains(err.Error(), "sorted rows") != sorted || !strings.Contains(err.Error(), "make room there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAddressSpaceOfTheSort checks that a sort whose memory cannot be mapped is an error of the settings, and names the limit.
func TestAddressSpaceOfTheSort(t *testing.T) {
	err := explainLimits(fail.With(fail.Input, fmt.Errorf("map 9 bytes for the sort: %w", syscall.ENOMEM)), Options{})
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "ulimit -v") {
		t.Errorf("kind %d: %v", fail.KindOf(err), err)
	}
}

// TestMemoryForLongRows checks that rows that are too long for the memory, in the arena of a worker or in a merge, are an error of the settings: a repeat
// ends in the same way. So are runs that an attempt with less memory cannot merge.
func TestMemoryForLongRows(t *testing.T) {
	for _, c := range []struct {
		length int
		says   string
	}{{1 << 20, "cannot merge two runs with rows this long"}, {6 << 20, "does not fit in the"}} {
		text := "id,a\n"
		for i := range 16 {
			text += fmt.Sprintf("%d,%s\n", i, strings.Repeat("x", c.length))
		}
		_, err := buildInto(t.Context(), t, jobtest.Env(t), writeInput(t, "long.csv", text), Output{FS: hdfsio.Local{}, Dir: t.TempDir()}, WorkOptions{Workers: 1, Memory: 8 << 20, SpillDir: t.TempDir()})
		if fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(fmt.Sprint(err), "`memory`") {
			t.Errorf("rows of %d bytes: kind %s, %v", c.length, fail.KindOf(err), err)
		}
	}
	err := fmt.Errorf("%w: x", extsort.ErrMemory)
	for _, err := range []error{(inputRows{}).explain(err), Options{}.ReadError(err)} {
		if fail.KindOf(err) != fail.Config {
			t.Errorf("kind %s: %v", fail.KindOf(err), err)
		}
	}
}

// TestHeapFloorOfAnyMemory checks that a budget of any size has a floor that can be allocated.
func TestHeapFloorOfAnyMemory(t *testing.T) {
	for _, memory := range []spec.Size{0, 1 << 20, 512 << 20, 1 << 50, math.MaxInt64} {
		o := Options{Memory: memory}
		if n := o.HeapFloor(); n < 0 || n > 1<<30 {
			t.Errorf("%s: %d bytes", memory, n)
		}
	}
}
