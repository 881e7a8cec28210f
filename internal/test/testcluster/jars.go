package testcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/test/testcheck"

	"golang.org/x/sys/unix"
)

// ErrToolchain means that java, javac or mvn is missing. The error text has the command that installs them.
var ErrToolchain = errors.New("install with: apt-get install -y openjdk-17-jdk-headless maven")

// EnvLib names the directory of jars, which replaces the one in the user's cache. If the directory does not exist,
// Maven fills it.
const EnvLib = "BULKLOAD_CLUSTER_LIB"

const (
	fetchTries = 4
	firstPause = 2 * time.Second
)

// tool returns the path of a program of the JDK or Maven: in JAVA_HOME first, if it is set, then in PATH.
func tool(name string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path := filepath.Join(home, "bin", name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("test cluster needs %s, which is not in PATH: %w", name, ErrToolchain)
	}
	return path, nil
}

// sourceDir returns testdata/cluster of the checkout that contains the working directory: go test runs in the
// package's directory, go run in the user's.
func sourceDir() (string, error) {
	root, err := testcheck.Root()
	return filepath.Join(root, "testdata", "cluster"), err
}

// envCache names the directory that cacheRoot returns, for tests whose user's cache is another one.
const envCache = "BULKLOAD_CLUSTER_CACHE"

// OwnCache gives the test a user's cache of its own, as that of another host. Clusters keep their cache: one that the test starts may outlive it.
func OwnCache(t testing.TB) {
	dir, err := cacheRoot()
	testcheck.Must(t, err)
	t.Setenv(envCache, dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

func cacheRoot() (string, error) {
	if dir := os.Getenv(envCache); dir != "" {
		return dir, nil
	}
	dir := os.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cache directory for the cluster's jars (set XDG_CACHE_HOME): %w", err)
		}
		dir = filepath.Join(home, ".cache")
	}
	dir = filepath.Join(dir, "bulkload", "cluster")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache directory for the cluster's jars: %w", err)
	}
	return dir, nil
}

// Jars returns the directory of the cluster's jars. Maven downloads them if they are missing. Of concurrent processes
// only one downloads.
func Jars(ctx context.Context) (string, error) {
	lib := os.Getenv(EnvLib)
	if lib == "" {
		return cachedJars(ctx, "pom.xml", "", "")
	}
	src, err := sourceDir()
	if err != nil {
		return "", err
	}
	return lib, fillOnce(ctx, lib, func(part string) error { return fetchJars(ctx, filepath.Join(src, "pom.xml"), part) })
}

// classes returns the directory of the compiled Java tools. Those of java3 need the clients of Hadoop 3.
func classes(ctx context.Context, lib string) (string, error) {
	dirs := []string{"java", "java3"}
	if old, _ := filepath.Glob(filepath.Join(lib, "hadoop-common-2.*.jar")); len(old) > 0 {
		dirs = dirs[:1]
	}
	return compile(ctx, "classes", lib, dirs...)
}

// compile runs javac once for each content of the sources and each directory of jars, and returns the directory of
// the classes. The sources are those in directories relative to sourceDir.
func compile(ctx context.Context, name, lib string, dirs ...string) (string, error) {
	src, err := sourceDir()
	if err != nil {
		return "", err
	}
	var sources []string
	for _, dir := range dirs {
		more, err := filepath.Glob(filepath.Join(src, dir, "*.java"))
		if err != nil {
			return "", err
		}
		sources = append(sources, more...)
	}
	if len(sources) == 0 {
		return "", fmt.Errorf("no Java sources in %s: the checkout is incomplete", filepath.Join(src, dirs[0]))
	}
	sum, err := contentHash(sources...)
	if err != nil {
		return "", err
	}
	libSum := sha256.Sum256([]byte(lib))
	return cached(ctx, fmt.Sprintf("%s-%s-%x", name, sum, libSum[:4]), func(part string) error {
		javac, err := tool("javac")
		if err != nil {
			return err
		}
		args := []string{"-nowarn", "-XDsuppressNotes", "-encoding", "UTF-8", "-cp", filepath.Join(lib, "*"), "-d", part}
		return runTool(ctx, javac, append(args, sources...)...)
	})
}

// cached is [fillOnce] for a directory of the cache.
func cached(ctx context.Context, name string, fill func(part string) error) (dir string, err error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(root, name)
	return dir, fillOnce(ctx, dir, fill)
}

// fillOnce creates dir with fill, which gets an empty directory next to it. The rename at the end makes it complete,
// and a lock file lets one process work at a time.
func fillOnce(ctx context.Context, dir string, fill func(part string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The process that left a part was killed: this process has the lock.
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	if err := fill(part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return os.Rename(part, dir)
}

func fetchJars(ctx context.Context, pom, dir string, options ...string) error {
	if _, err := tool("java"); err != nil {
		return err
	}
	mvn, err := tool("mvn")
	if err != nil {
		return err
	}
	pause := firstPause
	for try := 1; ; try++ {
		err := runTool(ctx, mvn, append([]string{"-q", "-B", "-f", pom, "dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory=" + dir}, options...)...)
		if err == nil {
			return nil
		}
		if try == fetchTries || ctx.Err() != nil {
			return fmt.Errorf("fetch the cluster's jars, %d tries (is a Maven repository reachable?): %w", try, err)
		}
		_ = retry.Sleep(ctx, pause) // the next try ends with ctx
		pause *= 2
	}
}

// runTool includes the end of the tool's output in its error.
func runTool(ctx context.Context, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, lastLines(string(out), 30))
	}
	return nil
}

func contentHash(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(path), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// lockFile takes an exclusive lock, and waits for it until ctx ends. The kernel releases the lock when the process
// dies.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if err := retry.Sleep(ctx, pollEvery); err != nil {
			f.Close()
			return nil, fmt.Errorf("wait for %s, which another process holds: %w", path, err)
		}
	}
}
