package testcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// holdClusterEnv makes the test binary a process that starts a cluster, prints its directory and waits
// to be killed.
const holdClusterEnv = "TESTCLUSTER_HOLD"

func holdCluster() {
	c, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	a, err := c.Admin(context.Background())
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("cluster", c.Dir(), a.cmd.Process.Pid)
	select {}
}

// When a test process is killed by SIGKILL, its daemons die with it, and the next Start removes the directory.
// Meanwhile that cluster runs concurrently with the shared one, and neither sees the other's tables.
func TestKilledOwner(t *testing.T) {
	shared := Shared(t)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), holdClusterEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	var dir string
	var adminPid int
	if _, scanErr := fmt.Sscanf(line, "cluster %s %d", &dir, &adminPid); scanErr != nil {
		t.Fatalf("the child says %q, %v", line, err)
	}
	admin, err := identify(adminPid)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Attach(t.Context(), filepath.Join(dir, "conf"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.ZooKeeper() == shared.ZooKeeper() || other.HDFS() == shared.HDFS() {
		t.Error("two clusters have the same address")
	}
	a, b := shared.AdminT(t), other.AdminT(t)
	run(t, a, "create", "other")
	run(t, a, "put", "other", "4x", "f:a", "hello")
	run(t, b, "create", "other")
	if got := run(t, a, "digest", "other"); got != helloDigest {
		t.Errorf("shared cluster: %s", got)
	}
	if got := run(t, b, "digest", "other"); got != emptyDigest {
		t.Errorf("other cluster: %s", got)
	}
	run(t, a, "drop", "other")

	ids := append(identities(other), admin)
	for _, id := range ids {
		if !id.alive() {
			t.Fatalf("process %d is gone before its time", id.Pid)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Daemons die with the thread that started them, which may be before the last thread, which releases the lock.
	cmd.Wait()
	waitGone(t, ids)

	mine, unlock, err := temporaryDir(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	defer os.RemoveAll(mine)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead process's directory is left: %v", err)
	}
	if os.Getenv(EnvConf) == "" {
		if _, err := os.Stat(shared.Dir()); err != nil {
			t.Errorf("the living cluster's directory: %v", err)
		}
	}
}

func TestUpDown(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	o := Options{
		Dir:           filepath.Join(t.TempDir(), "cluster"),
		RegionServers: 2,
		HBaseSite:     map[string]string{"hbase.hregion.max.filesize": "1234567890"},
	}
	if err := Down(t.Context(), o.Dir); err != nil {
		t.Fatalf("down without a directory: %v", err)
	}
	c, started, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ids := identities(c)
	defer func() { endProcesses(context.Background(), ids) }()
	if !started {
		t.Error("the first up started nothing")
	}
	c.Close()
	site, err := os.ReadFile(filepath.Join(c.ConfDir(), "hbase-site.xml"))
	if err != nil || !strings.Contains(string(site), "1234567890") {
		t.Errorf("the property given is not in hbase-site.xml: %v", err)
	}

	again, started, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if started || !slices.Equal(ids, identities(again)) {
		t.Error("the second up started something")
	}
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "running test cluster") {
		t.Errorf("start over a running cluster: %v", err)
	}
	if env := strings.Join(again.Environment(), "\n"); !strings.Contains(env, "HBASE_CONF_DIR="+filepath.Join(o.Dir, "conf")) {
		t.Errorf("environment:\n%s", env)
	}

	testFaults(t, again)
	ids = append(ids, identities(again)...)

	// A paused daemon is also ended when the cluster is taken down.
	if err := again.Daemon(DataNode).Pause(); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), o.Dir); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, ids)
	if err := Down(t.Context(), o.Dir); err != nil {
		t.Errorf("second down: %v", err)
	}
	if _, err := Attach(t.Context(), filepath.Join(o.Dir, "conf")); !errors.Is(err, ErrNoCluster) {
		t.Errorf("attach after down: %v", err)
	}
	again.Close()
	if err := again.Daemon(RegionServer).Restart(t.Context()); err == nil {
		t.Error("a daemon starts by a closed handle")
	}
}

// The master waits for a DataNode that takes a long time to start.
func TestSlowDataNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	lib, err := Jars(t.Context())
	testcheck.Must(t, err)
	c, err := newCluster(t.Context(), lib)
	testcheck.Must(t, err)
	c.hadoopLib, c.hdfsLib = lib, lib
	unlock, err := startLock(t.Context())
	testcheck.Must(t, err)
	defer unlock()
	t.Cleanup(func() { testcheck.Must(t, c.Stop()) })
	o := Options{}.withDefaults()
	testcheck.Must(t, c.prepare(t.Context(), o))
	d := c.state.Daemons[DataNode]
	d.Command = append([]string{"sh", "-c", `sleep 6; exec "$@"`, "sh"}, d.Command...)
	if err := c.startAll(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// A failed start returns the daemon's own messages, and leaves nothing.
func TestStartFails(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, err := Start(t.Context(), Options{HDFSSite: map[string]string{"dfs.namenode.http-address": "localhost:nowhere"}})
	if err == nil {
		t.Fatal("a namenode without a port starts")
	}
	if !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the error has none of the daemon's words: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, temporaryPrefix+"*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v %v", left, err)
	}
	if users := holders(t, tmp); len(users) > 0 {
		t.Errorf("processes left: %v", users)
	}
}

// holders returns the processes that have dir in their command line.
func holders(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(lines, func(path string) bool {
		text, err := os.ReadFile(path)
		return err != nil || !strings.Contains(string(text), dir)
	})
}
