package job

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"path"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestKilledBeforeItsStagingIsRemoved checks that the next attempt removes the staging directory of a job that was killed after it was done.
func TestKilledBeforeItsStagingIsRemoved(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for how, files := range map[string]int{"": programRegions, "--restart": 2 * programRegions} {
		t.Run("again "+how, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			base := "/tmp/done-" + testcheck.Name(t)
			flags := []string{"--staging=" + base}
			if code, _, stderr := p.run("done", flags...); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			fsys := jobtest.UserFS(t, p.cluster, "tina")
			if list, err := fsys.ReadDir(t.Context(), base); err != nil || len(list) != 1 {
				t.Fatalf("%d directories: %v", len(list), err)
			}
			if how != "" {
				flags = append(flags, how)
			}
			if code, _, stderr := p.run("", flags...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			jobtest.Empty(t, fsys, base)
			p.judge(files)
		})
	}
}

// TestStagingOfAnotherOwnerIsRefused checks that a directory above a job's with another owner is refused, since the owner could replace the job's
// files.
func TestStagingOfAnotherOwnerIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	user, err := env.Conf.User()
	if err != nil {
		t.Fatal(err)
	}
	mine, mallory := jobtest.UserFS(t, cluster, user), jobtest.UserFS(t, cluster, "mallory")
	base := "/tmp/owner-test-" + testcheck.Name(t)
	super := jobtest.UserFS(t, cluster, "hbase")
	t.Cleanup(func() {
		for _, f := range []string{base, base + "-sticky", base + "-open", base + "-new"} {
			_ = mallory.RemoveAll(context.WithoutCancel(t.Context()), f)
			_ = mine.RemoveAll(context.WithoutCancel(t.Context()), f)
			_ = super.RemoveAll(context.WithoutCancel(t.Context()), f)
		}
	})
	for dir, mode := range map[string]fs.FileMode{base: 0o777, base + "-sticky": 0o777 | fs.ModeSticky} {
		if err := mallory.MkdirAll(t.Context(), dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := mallory.Chmod(t.Context(), dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.MkdirAll(t.Context(), base+"-open", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := mine.Chmod(t.Context(), base+"-open", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, err string }{
		{base, "belongs to mallory, not to " + user},
		{base + "-sticky", ""},
		{base + "-open", "all users may replace"},
		{base + "-new", ""},
	} {
		stage, err := openStage(t.Context(), env, c.dir, "t", 1)
		if c.err == "" {
			if err != nil {
				t.Errorf("%s: %v", c.dir, err)
			} else if err := stage.Remove(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.dir, err)
		}
	}
	// The default directory of a user belongs to the user, sticky or not.
	if _, err := staging.MakeBase(t.Context(), mine, base+"-sticky", "nobody"); err != nil {
		t.Error(err)
	}
	// A job's directory made by another user.
	dir := base + "-sticky/t-1-0000000000000001"
	if err := mallory.MkdirAll(t.Context(), dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := env.Conf.Resolve("hdfs://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stageAt(t.Context(), env, l); err == nil || !strings.Contains(err.Error(), "belongs to mallory") {
		t.Errorf("a directory of mallory's as the job's: %v", err)
	}
}

// TestStagingParentsLetOthersPass checks that only the directory of the jobs is closed to others, not those above it.
func TestStagingParentsLetOthersPass(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	user, err := env.Conf.User()
	if err != nil {
		t.Fatal(err)
	}
	fsys := jobtest.UserFS(t, cluster, user)
	top := "/tmp/parents-test-" + testcheck.Name(t)
	t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), top) })
	if _, err := openStage(t.Context(), env, top+"/a/jobs", "t", 1); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]fs.FileMode{top: 0o755, top + "/a": 0o755, top + "/a/jobs": 0o711} {
		info, err := fsys.Stat(t.Context(), dir)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", dir, info.Mode(), err, want)
		}
	}
}

// TestAbortedPreflightLeavesNoDirectory stops a check while HBase creates the directory of a load for it.
func TestAbortedPreflightLeavesNoDirectory(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	s := jobtest.Spec(t, "check")
	s.Table = jobtest.FreshTable(t, env, 10, nil)
	user, err := env.Conf.User()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := false
	c, err := loader.Dial(ctx, loader.Config{Quorum: env.Conf.Quorum(), Root: env.Conf.Value("zookeeper.znode.parent"), EffectiveUser: user,
		Dialer: func(_ context.Context, network, addr string) (net.Conn, error) {
			nc, err := net.DialTimeout(network, addr, 10*time.Second)
			return &writeWatch{nc, func(p []byte) {
				if bytes.Contains(p, []byte("PrepareBulkLoad")) {
					asked = true
					cancel()
				}
			}}, err
		}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	base := "/tmp/aborted-test-" + testcheck.Name(t)
	t.Cleanup(func() { _ = jobtest.UserFS(t, cluster, user).RemoveAll(context.WithoutCancel(t.Context()), base) })
	if _, err := preflight.Run(ctx, env, jobtest.Resolve(t, s), preflight.Options{Cluster: c, Staging: base}); !errors.Is(err, context.Canceled) || !asked {
		t.Fatalf("asked %t, %v", asked, err)
	}
	_, name, _ := strings.Cut(s.Table, ":")
	left, err := jobtest.UserFS(t, cluster, "hbase").ReadDir(t.Context(), "/hbase/staging")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range left {
		if strings.Contains(x.Name(), name) {
			t.Errorf("left behind: %s", path.Join("/hbase/staging", x.Name()))
		}
	}
}

// writeWatch is a connection that reports its finished writes.
type writeWatch struct {
	net.Conn
	seen func([]byte)
}

func (c *writeWatch) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.seen(p)
	return n, err
}

// openStage creates a new directory for a job.
func openStage(ctx context.Context, env *cluster.Env, dir, table string, timestamp int64) (*stage, error) {
	l, err := staging.Choose(ctx, env, dir, table, timestamp)
	if err != nil {
		return nil, err
	}
	return stageAt(ctx, env, l)
}
