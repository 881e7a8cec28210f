package jobtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"

	"golang.org/x/sys/unix"
)

// Program returns the path of the program. With the tag stopafter, it kills itself after a record of its journal if a test requests that. It is
// static, as the nodes of YARN require.
func Program(t testing.TB) string {
	t.Helper()
	name, err := built()
	testcheck.Must(t, err)
	return name
}

// built builds the program in the checkout's build directory, where it need not be removed. Of several processes one builds at a time: the
// others find the program there, and the go command does not link it again if its sources have not changed.
var built = sync.OnceValues(func() (string, error) {
	root, err := testcheck.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "build", "programs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	name := filepath.Join(dir, "bulkload")
	build := exec.Command("go", "build", "-tags", "stopafter", "-o", name, "bulkload/cmd/bulkload")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
})

// Empty checks that a directory is empty or does not exist.
func Empty(t testing.TB, fsys hdfsio.FS, dir string) {
	t.Helper()
	list, err := fsys.ReadDir(t.Context(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, info := range list {
		t.Errorf("left behind: %s", path.Join(dir, info.Name()))
	}
}
