package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/source"
)

// fullDiskEnv marks the child process of TestFullDiskChild.
const fullDiskEnv = "BULKLOAD_TEST_FULL_DISK"

// TestFullDiskHasOneKind fills a small disk under each directory that a job writes to on this machine. The failure has the kind of a full disk, names
// the directory and the free space, and the journal has no record that could not be written.
func TestFullDiskHasOneKind(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskChild$", "-test.v")
	cmd.Env = append(os.Environ(), fullDiskEnv+"=1")
	cmd.SysProcAttr = jobtest.OwnMounts()
	out, err := cmd.CombinedOutput()
	if err != nil && (errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "mount:")) {
		t.Skipf("this system gives no user a mount of its own: %v\n%s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestFullDiskChild is the process with its own small disk.
func TestFullDiskChild(t *testing.T) {
	if os.Getenv(fullDiskEnv) == "" {
		t.Skip("part of TestFullDiskHasOneKind")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	full := func(t *testing.T, err error) {
		t.Helper()
		if fail.KindOf(err) != fail.HDFS || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "bytes are free") {
			t.Errorf("kind %d: %v", fail.KindOf(err), err)
		}
	}
	identified := func(table string) Identity {
		id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{"/in.csv"}, Key: "id"}), "")
		if err != nil {
			t.Fatal(err)
		}
		return id.On("test")
	}
	id := identified("t")
	options := Options{Dir: dir}
	t.Run("journal", func(t *testing.T) {
		st, err := Open(t.Context(), nil, id, options, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		ballast := fill(t, dir)
		for err == nil {
			err = st.Record(history.EventLoading, history.FilesRecord{Reason: strings.Repeat("x", 512)})
		}
		full(t, err)
		if again := st.Record(history.EventLoaded, history.FilesRecord{}); again == nil {
			t.Error("a record was written behind one that is torn")
		}
		_ = st.Close()
		whole := wholeRecords(t, filepath.Join(st.Dir, journal.FileName))
		remove(t, ballast)
		st, err = Open(t.Context(), nil, id, options, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if err := st.Record(history.EventLoaded, history.FilesRecord{}); err != nil || wholeRecords(t, filepath.Join(st.Dir, journal.FileName)) != whole+1 {
			t.Errorf("resumed with room: %v", err)
		}
	})
	t.Run("a new state directory", func(t *testing.T) {
		ballast := fill(t, dir)
		defer remove(t, ballast)
		_, err := Open(t.Context(), nil, identified("other"), options, progress.Events{})
		full(t, err)
	})
	t.Run("reject file", func(t *testing.T) {
		ballast := fill(t, dir)
		defer remove(t, ballast)
		f := source.NewRejectFile(filepath.Join(dir, "rejects.jsonl"))
		var err error
		for err == nil {
			err = f.Write(source.RowError{Path: "in.csv", Raw: bytes.Repeat([]byte("x"), 4000), Reason: "made up"})
		}
		full(t, build.Options{}.ReadError(err))
		_ = f.Abort()
	})
	t.Run("result file", func(t *testing.T) {
		ballast := fill(t, dir)
		defer remove(t, ballast)
		err := durable.Replace(filepath.Join(dir, "result.json"), make([]byte, 4096))
		full(t, fail.With(fail.Unexpected, err))
		if fail.KindOf(err) != fail.HDFS {
			t.Errorf("kind %d without a mark", fail.KindOf(err))
		}
		if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
			t.Error("a file that could not be written whole has its name")
		}
	})
	t.Run("another error that carries it", func(t *testing.T) {
		err := fail.Errorf(fail.Input, "read: %w", fmt.Errorf("spill: %w", &os.PathError{Op: "write", Path: filepath.Join(dir, "gone", "run"), Err: syscall.ENOSPC}))
		full(t, err)
		if quota := fail.Errorf(fail.Config, "state: %w", &os.PathError{Op: "mkdir", Path: dir, Err: syscall.EDQUOT}); fail.KindOf(quota) != fail.HDFS {
			t.Errorf("a user's share that is used up: kind %d", fail.KindOf(quota))
		}
	})
}

// fill uses up the space of a disk.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// wholeRecords returns the number of complete lines of a journal.
func wholeRecords(t *testing.T, name string) int {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := journal.Read(io.Reader(f))
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}
