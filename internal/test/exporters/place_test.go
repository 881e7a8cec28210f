package exporters

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// root returns the top of the checkout.
const root = "../../.."

// gate skips a test that was not requested.
func gate(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("BULKLOAD_TEST_EXPORTERS") == "" {
		t.Skip("fetches MariaDB, PostgreSQL and Spark: make test-exporters")
	}
}

// cacheDir returns a directory of the user's cache for downloads. It may not exist yet.
func cacheDir(t *testing.T, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "bulkload", "exporters", name)
}

// nobody is the user of servers if the tests run as root: they refuse to run as root.
const nobody = 65534

// newPlace creates a directory that a server may write to, with a path short enough for a socket.
func newPlace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bulkload-exporters-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	return dir
}

// own changes the owner of a file to nobody if the tests run as root.
func own(t *testing.T, name string) {
	t.Helper()
	if os.Getuid() == 0 {
		if err := os.Chown(name, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
}

// ownDir creates a directory that a server may write to.
func ownDir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	return dir
}

// unprivileged makes a command run as nobody if the tests run as root, and end with the test's process.
func unprivileged(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// run runs a command to its end and returns its standard output.
func run(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := try(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try runs a command to its end; the error includes its output.
func try(cmd *exec.Cmd) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), errors.Join(err, errors.New(strings.Join(cmd.Args[:1], " ")+": "+tail(said.String()+out.String())))
	}
	return out.Bytes(), nil
}

// tail returns the end of a long text.
func tail(s string) string { return s[max(0, len(s)-4000):] }

// serve starts a server and waits until it answers. The signal stops it when the test ends.
func serve(t *testing.T, cmd *exec.Cmd, stop os.Signal, answers func(context.Context) error) {
	t.Helper()
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(stop)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("%s does not end", cmd.Args[0])
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	testcheck.Eventually(t, 3*time.Minute, cmd.Args[0]+" answers", func() (bool, any) {
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", cmd.Args[0], tail(said.String()))
		default:
		}
		err := answers(t.Context())
		return err == nil, err
	})
}
