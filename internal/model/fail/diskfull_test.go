package fail

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/pkg/setting"
)

// TestExplainFull checks that the error of a full disk names the file, the disk and the remedy. A directory that does not exist is on the disk of its
// parent.
func TestExplainFull(t *testing.T) {
	dir := t.TempDir()
	for what, c := range map[string]struct {
		err   error
		name  string
		cause string
	}{
		"a file":            {&os.PathError{Op: "write", Path: filepath.Join(dir, "run"), Err: syscall.ENOSPC}, filepath.Join(dir, "run"), "no space left on device"},
		"a link":            {&os.LinkError{Op: "rename", Old: "/elsewhere/x", New: filepath.Join(dir, "x"), Err: syscall.EDQUOT}, filepath.Join(dir, "x"), "disk quota exceeded"},
		"in no directory":   {&os.PathError{Op: "mkdir", Path: filepath.Join(dir, "a/b/c"), Err: syscall.ENOSPC}, filepath.Join(dir, "a/b/c"), "no space left on device"},
		"wrapped by others": {fmt.Errorf("sort: %w", &os.PathError{Op: "write", Path: filepath.Join(dir, "run"), Err: syscall.ENOSPC}), filepath.Join(dir, "run"), "no space left on device"},
	} {
		err := With(Input, c.err)
		e, ok := errors.AsType[*DiskFullError](err)
		if !ok || !errors.Is(err, c.err) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if e.Name != c.name || e.Dir != dir || e.Free == 0 {
			t.Errorf("%s: file %s, directory %s, %d bytes free", what, e.Name, e.Dir, e.Free)
		}
		want := fmt.Sprintf("write %s: %s: %d bytes are free (make room there, or name another directory; then repeat the command)", c.name, c.cause, e.Free)
		if err.Error() != want {
			t.Errorf("%s: %q, want %q", what, err, want)
		}
		if again := ExplainFull(err); again != err {
			t.Errorf("%s: explained twice: %v", what, again)
		}
	}
}

// TestFullNowhere checks that an error without a file names no disk.
func TestFullNowhere(t *testing.T) {
	err := ExplainFull(fmt.Errorf("the store says: %w", syscall.ENOSPC))
	e, ok := errors.AsType[*DiskFullError](err)
	if !ok || e.Dir != "" || e.Name != "" || !strings.HasPrefix(err.Error(), "the store says: no space left on device (make room there") {
		t.Errorf("%+v: %v", e, err)
	}
}

// TestFullDevice checks that the error of a device, such as /dev/full as standard output, gives no advice about a disk, and that a link to a file is
// on the disk of the file.
func TestFullDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/full", link} {
		full := &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
		if err := With(Input, full); err.Error() != full.Error() || KindOf(err) != HDFS {
			t.Errorf("%s: kind %s, %v", name, KindOf(err), err)
		}
	}
	file, linked := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "linked")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, linked)); err != nil {
		t.Fatal(err)
	}
	e, ok := errors.AsType[*DiskFullError](With(Input, &os.PathError{Op: "write", Path: linked, Err: syscall.ENOSPC}))
	if !ok || e.Dir != filepath.Dir(file) || e.Name != linked {
		t.Errorf("a link: %+v", e)
	}
}

// TestFileTooLarge checks that a write beyond the limit of a file's size is a failure of the disk that names the file once and the limit, whatever
// the directory's advice.
func TestFileTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run")
	err := With(Unexpected, fmt.Errorf("spill: %w", &os.PathError{Op: "write", Path: name, Err: syscall.EFBIG}))
	e, ok := errors.AsType[*DiskFullError](err)
	if !ok || KindOf(err) != HDFS {
		t.Fatalf("kind %v: %v", KindOf(err), err)
	}
	e.Advise(setting.Plain("make room"))
	want := fmt.Sprintf("write %s: file too large (raise the limit of a file's size by ulimit -f, or LimitFSIZE of a systemd unit; then repeat the command)", name)
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestMemoryRefused checks that memory that the system refuses is a matter of settings, wherever it is needed.
func TestMemoryRefused(t *testing.T) {
	for _, k := range []Kind{Input, HDFS, Load, Unexpected} {
		if got := KindOf(With(k, fmt.Errorf("map: %w", syscall.ENOMEM))); got != Config {
			t.Errorf("%v: %v", k, got)
		}
	}
}

// TestAdviceNamesSettings checks that advice shows settings in a caller's words, with a disk and without.
func TestAdviceNamesSettings(t *testing.T) {
	advice := setting.Textf("give %s", setting.SpillDir)
	for _, e := range []*DiskFullError{{Err: syscall.ENOSPC, Advice: advice}, {Err: syscall.ENOSPC, Advice: advice, Dir: "/spill", Name: "/spill/run", Free: 7}} {
		err := With(HDFS, e)
		if names := setting.Of(err); !slices.Equal(names, []setting.Name{setting.SpillDir}) {
			t.Errorf("%v names %v", err, names)
		}
		if text := e.In(func(setting.Name) string { return "--spill-dir" }); !strings.Contains(text, "give --spill-dir") || strings.Contains(text, "`") {
			t.Errorf("it says %q", text)
		}
		if !strings.Contains(err.Error(), "give `spill_dir`") {
			t.Errorf("it says %v", err)
		}
	}
}

// TestDiskFull checks that a full disk and an exceeded quota count as a full disk, and so does a file that is too large.
func TestDiskFull(t *testing.T) {
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true, syscall.EIO: false, io.ErrShortWrite: false} {
		if got := DiskFull(fmt.Errorf("write: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
	if DiskFull(nil) {
		t.Error("no error is a full disk")
	}
}

// TestWrittenName checks that names are absolute, and that errors without a file have none.
func TestWrittenName(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Path: "spill/run", Err: syscall.ENOSPC}, filepath.Join(here, "spill/run")},
		{fmt.Errorf("sort: %w", &os.PathError{Path: "/spill/../run", Err: syscall.ENOSPC}), "/run"},
		{&os.LinkError{Old: "/a", New: "/b", Err: syscall.ENOSPC}, "/b"},
		{&os.PathError{Err: syscall.ENOSPC}, ""},
		{syscall.ENOSPC, ""},
		{nil, ""},
	} {
		if got := WrittenName(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
