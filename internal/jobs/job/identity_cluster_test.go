package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"github.com/go-zookeeper/zk"
)

// secondCluster gives the cluster a second root in ZooKeeper, with another id.
func secondCluster(t *testing.T, env *cluster.Env) (root string) {
	t.Helper()
	connect := func() *zk.Conn {
		conn, _, err := zk.Connect(strings.Split(env.Conf.Quorum(), ","), 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := connect()
	defer conn.Close()
	root = "/bulkload-test-" + testcheck.Name(t)
	put := func(name string, data []byte) {
		if _, err := conn.Create(name, data, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			conn := connect()
			defer conn.Close()
			if err := conn.Delete(name, -1); err != nil {
				t.Error(err)
			}
		})
	}
	put(root, nil)
	for _, name := range []string{"meta-region-server", "master"} {
		data, _, err := conn.Get(env.Conf.Znode() + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		put(root+"/"+name, data)
	}
	id := "00000000-1111-2222-3333-444444444444"
	put(root+"/hbaseid", append([]byte{0xFF, 0, 0, 0, 0, 'P', 'B', 'U', 'F', 1<<3 | 2, byte(len(id))}, id...))
	return root
}

// TestSecondClusterIsAnotherJob checks that a second cluster makes another job,
// even at the same addresses.
func TestSecondClusterIsAnotherJob(t *testing.T) {
	t.Parallel()
	servers := testcluster.Shared(t)
	env, other := jobtest.ClusterEnv(t, servers), jobtest.ClusterEnv(t, servers)
	other.Conf.Set("zookeeper.znode.parent", secondCluster(t, env), "test")
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = jobtest.FreshTable(t, env, 10, nil), []string{jobtest.Export(t, "check.dump")}
	o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	jobs := map[string]bool{}
	for _, c := range []struct {
		env     *cluster.Env
		already bool
	}{{env, false}, {other, false}, {other, true}} {
		s.Verify = map[bool]string{false: "sample", true: "off"}[c.env == other]
		r, err := Run(t.Context(), c.env, jobtest.Resolve(t, s), o)
		if err != nil || r.Already != c.already {
			t.Fatalf("%v, already %v", err, r.Already)
		}
		jobs[r.Job] = true
	}
	if len(jobs) != 2 {
		t.Errorf("jobs: %v", jobs)
	}
}

// TestClusterOutOfReach checks that the error reports that, and the process that
// works on the job, and that status finds the job.
func TestClusterOutOfReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clusters []string // with state
		locked   bool     // another process has the state
		kind     fail.Kind
	}{
		"no state":                      {nil, false, fail.Load},
		"state of one cluster":          {[]string{"c"}, false, fail.Load},
		"another process has the state": {[]string{"c"}, true, fail.Busy},
		"state of two clusters":         {[]string{"c", "d"}, false, fail.Load},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits until the look-up has failed
			env := jobtest.Env(t)
			env.Conf.Set("hbase.zookeeper.quorum", "127.0.0.1:1", "test")
			env.Conf.Set("hbase.client.user", "x", "test")
			s := jobtest.Spec(t, "check")
			s.Inputs = []string{"/in"}
			o := RunOptions{State: checkpoint.Options{Dir: t.TempDir(), JobID: "night"}}
			id, err := checkpoint.Identify(env, jobtest.Resolve(t, s), "night")
			if err != nil {
				t.Fatal(err)
			}
			dir := ""
			for _, cluster := range c.clusters {
				dir = filepath.Join(o.State.Dir, id.On(cluster).Name())
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if len(c.clusters) != 1 {
				dir = "" // ambiguous
			}
			if c.locked {
				lock, err := journal.TryLock(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer lock.Release()
			}
			r, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
			if fail.KindOf(err) != c.kind {
				t.Fatalf("%v: %+v", err, r)
			}
			if !c.locked && (r == nil || r.Job != dir || dir != "" && !status.IsOurs(dir)) {
				t.Errorf("%v: %+v", err, r)
			}
		})
	}
}

// TestJobOfAnEarlierVersionGoesOn checks that a job of an earlier version is
// resumed under its old name.
func TestJobOfAnEarlierVersionGoesOn(t *testing.T) {
	t.Parallel()
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = "default:check", []string{"./in"}
	id, err := checkpoint.Identify(env, jobtest.Resolve(t, s), "night")
	if err != nil {
		t.Fatal(err)
	}
	o := checkpoint.Options{Dir: t.TempDir()}
	id = id.On("c")
	if want := filepath.Join(o.Dir, id.Name()); o.StateDir(id) != want {
		t.Errorf("it is %s", o.StateDir(id))
	}
	old := filepath.Join(o.Dir, id.OldName())
	if want := "default_check-ca63e4e76561"; filepath.Base(old) != want {
		t.Errorf("its name was %s", old)
	}
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(old, journal.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o.StateDir(id) == old {
		t.Error("a journal without records is resumed")
	}
	if err := os.WriteFile(filepath.Join(old, journal.FileName), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.StateDir(id) != old || o.AnyCluster(id) != old {
		t.Errorf("it is %s", o.StateDir(id))
	}
}

// TestDonePartIsNotSkippedWhenReadDifferently checks that a part that was done with
// other options is refused, as it is when run separately.
func TestDonePartIsNotSkippedWhenReadDifferently(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	base := t.TempDir()
	for _, day := range []string{"01", "02"} {
		dir := filepath.Join(base, day)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.csv"), []byte("id,v\n"+day+"a,1\n"+day+"b,2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := spec.Spec{Table: jobtest.FreshTableAt(t, env, nil, nil), Key: "id", Columns: []string{"id", "v"}, Inputs: []string{base}, Header: "no", BadRecords: "1", Verify: "off"}
	o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	if _, err := RunParts(t.Context(), env, jobtest.Resolve(t, s), o); err != nil {
		t.Fatal(err)
	}
	s.Inputs, s.BadRecords = []string{base + "/./"}, "3" // a later part may need that; these parts had one bad record
	if r, err := RunParts(t.Context(), env, jobtest.Resolve(t, s), o); err != nil || !r.Already {
		t.Errorf("the same again: %v", err)
	}
	for what, change := range map[string]func(*spec.Spec){"header was no, it is yes": func(s *spec.Spec) { s.Header = "yes" },
		"empty was skip, it is store": func(s *spec.Spec) { s.Empty = "store" }} {
		changed := s
		change(&changed)
		if _, err := RunParts(t.Context(), env, jobtest.Resolve(t, changed), o); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(o.State.Dir, "split")); errors.Is(err, fs.ErrNotExist) {
		t.Error("no lock was taken")
	}
}
