package staging

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// world returns an environment without a cluster, with a default file system and a user.
func world(t *testing.T, user string) *cluster.Env {
	t.Helper()
	env := jobtest.Env(t)
	env.Conf.Set("fs.defaultFS", "hdfs://nn:8020", "test")
	env.Conf.Env = func(name string) (string, bool) { return user, name == "HADOOP_USER_NAME" }
	return env
}

// TestNames checks that the names of jobs' directories are recognized, and no others.
func TestNames(t *testing.T) {
	const job = "ns_check-1700000000000-0123456789abcdef"
	for base, want := range map[string]struct{ job, probe bool }{
		job: {job: true}, "t-1-0123456789abcdef": {job: true}, "my-table.x_y-9223372036854775807-ffffffffffffffff": {job: true}, ProbeOf("/tmp/bulkload-tina/" + job): {probe: true},
		"_check-0123456789abcdef": {probe: true}, "": {}, "check": {}, "t-1-0123456789ABCDEF": {}, "t-1-0123456789abcde": {}, "t-1-0123456789abcdef0": {}, "t-12345678901234567890-0123456789abcdef": {},
		"-1-0123456789abcdef": {}, "t-x-0123456789abcdef": {}, "a/t-1-0123456789abcdef": {}, "t-1-0123456789abcdef\n": {}, "ns:t-1-0123456789abcdef": {}, "_check-0123456789abcdeg": {}, "x_check-0123456789abcdef": {},
		"_check-0123456789abcdef.x": {}, JournalName: {},
	} {
		if IsName(base) != want.job || IsProbe(base) != want.probe {
			t.Errorf("%q: of a job %t, of a check %t", base, IsName(base), IsProbe(base))
		}
	}
	if p := ProbeOf("short"); p != ProbePrefix+"short" {
		t.Errorf("of a short path: %q", p)
	}
	if ProbeOf("/a/"+job) != ProbeOf("/b/"+job) {
		t.Error("two attempts have different names")
	}
}

// TestNewNames checks that names are unique, and that each has the form of its kind.
func TestNewNames(t *testing.T) {
	env := world(t, "tina")
	seen := map[string]bool{}
	for range 200 {
		l, err := Choose(t.Context(), env, "", "ns:check", 1_700_000_000_000)
		testcheck.Must(t, err)
		base, probe := path.Base(l.Path), NewProbe()
		if !IsName(base) || IsProbe(base) || !strings.HasPrefix(base, "ns_check-1700000000000-") || path.Dir(l.Path) != "/tmp/bulkload-tina" {
			t.Fatalf("the directory is %s", l.Path)
		}
		if !IsProbe(probe) || IsName(probe) || seen[base] || seen[probe] {
			t.Fatalf("%s and %s, of %d", base, probe, len(seen))
		}
		seen[base], seen[probe] = true, true
	}
}

// TestBase checks that a base is on the default file system unless it names another, and is never local.
func TestBase(t *testing.T) {
	env := world(t, "tina")
	for dir, want := range map[string]string{
		"": "hdfs://nn:8020/tmp/bulkload-tina", "/stage": "hdfs://nn:8020/stage", "hdfs://other:9000/x": "hdfs://other:9000/x", "hdfs:///y": "hdfs://nn:8020/y",
		"file:///tmp/x": "staging directory file:///tmp/x is local, but HBase loads from HDFS", "s3a://bucket/x": "s3a",
	} {
		l, err := Base(t.Context(), env, dir)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && l.URI() != want {
			t.Errorf("%q: %s, %v, want %q", dir, l.URI(), err, want)
		}
		if _, err := Choose(t.Context(), env, dir, "t", 1); (err != nil) != !strings.HasPrefix(want, "hdfs:") || err != nil && fail.KindOf(err) != fail.Config {
			t.Errorf("a directory in %q: %v", dir, err)
		}
	}
	if _, err := Choose(t.Context(), env, "", "a:b:c", 1); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "a:b:c") {
		t.Errorf("of no table: %v", err)
	}
}

// TestAddressOfNameNode checks that a directory at a NameNode's address is refused, for all jobs, if HBase has the nameservice: HBase would refuse
// each file there.
func TestAddressOfNameNode(t *testing.T) {
	env := world(t, "tina")
	for key, value := range map[string]string{"dfs.nameservices": "bulk", "dfs.ha.namenodes.bulk": "n1,n2", "dfs.namenode.rpc-address.bulk.n1": "nn:8020", "dfs.namenode.rpc-address.bulk.n2": "nm:8020",
		cluster.RootDirKey: "hdfs://bulk/hbase"} {
		env.Conf.Set(key, value, "test")
	}
	for dir, want := range map[string]string{"": "hdfs://bulk/tmp/bulkload-tina", "hdfs://NM/x": "hdfs://bulk/x", "/x": "hdfs://bulk/x"} {
		if l, err := Choose(t.Context(), env, dir, "t", 1); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "`staging` "+want) {
			t.Errorf("%q: %s, %v, want the advice %s", dir, l, err, want)
		}
	}
	env.Conf.Set("fs.defaultFS", "hdfs://bulk", "test")
	env.Conf.Set(cluster.RootDirKey, "hdfs://nn:8020/hbase", "test") // this may be the client's name alone
	if l, err := Choose(t.Context(), env, "", "t", 1); err != nil || !strings.HasPrefix(l.URI(), "hdfs://bulk/tmp/") {
		t.Errorf("HBase by a NameNode: %s, %v", l, err)
	}
}

// local returns a directory of this machine, as a location.
func local(t *testing.T, env *cluster.Env, dir string) hdfsio.Location {
	t.Helper()
	l, err := env.Conf.Resolve("file://" + dir)
	testcheck.Must(t, err)
	return l
}

// TestMake checks that others can traverse a job's directory, that it is found again, and that it is removed completely, with the
// base that was created for it.
func TestMake(t *testing.T) {
	env, dir := world(t, "tina"), t.TempDir()
	l := local(t, env, dir+"/base/t-1-0123456789abcdef")
	d, err := Make(t.Context(), env, l)
	testcheck.Must(t, err)
	for _, name := range []string{dir + "/base", l.Path} {
		if info, err := os.Stat(name); err != nil || info.Mode() != fs.ModeDir|0o711 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	testcheck.Must(t, os.Chmod(l.Path, 0o700))
	again, err := Make(t.Context(), env, l)
	testcheck.Must(t, err)
	if info, err := os.Stat(l.Path); err != nil || info.Mode().Perm() != 0o711 || again.newBase || !d.newBase {
		t.Errorf("once more: %v %v, the base is new %t, %t", info.Mode(), err, d.newBase, again.newBase)
	}
	testcheck.Must(t, os.WriteFile(l.Path+"/file", []byte("x"), 0o600))
	testcheck.Must(t, d.TakeBack(t.Context(), false))
	if _, err := os.Stat(dir + "/base"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the base is left: %v", err)
	}
	testcheck.Must(t, d.Remove(t.Context())) // it is removed already
}

// TestMakeFails checks that an error names the setting that helps, and that nothing is left behind.
func TestMakeFails(t *testing.T) {
	env, dir := world(t, "tina"), t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err := Make(t.Context(), env, local(t, env, dir+"/file/t-1-0123456789abcdef"))
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "staging directory: "+dir+"/file is not a directory") {
		t.Errorf("below a file: %v", err)
	}
	if names := setting.Of(err); len(names) != 1 || names[0] != setting.Staging {
		t.Errorf("it names %v", names)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left is %v, %v", left, err)
	}
}

// TestTakeBack checks that a base that other jobs use stays, with their files, and so does a base that existed before.
func TestTakeBack(t *testing.T) {
	env := world(t, "tina")
	l, err := env.Conf.Resolve("hdfs://nn:8020/base/t-1-0123456789abcdef")
	testcheck.Must(t, err)
	for what, c := range map[string]struct {
		newBase, preflight bool // which of the two created it
		other              string
		left               []string
	}{
		"alone":                     {true, false, "", nil},
		"its preflight was earlier": {false, true, "", nil},
		"next to another job's":     {true, false, "/base/t-2-0123456789abcdef", []string{"t-2-0123456789abcdef"}},
		"in a base of before":       {false, false, "", []string{}},
	} {
		m := hdfsio.NewMemory()
		testcheck.Must(t, m.MkdirAll(t.Context(), l.Path+"/f/deep", 0o711))
		if c.other != "" {
			testcheck.Must(t, m.MkdirAll(t.Context(), c.other, 0o711))
		}
		// Directories of a cancelled job are removed too.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		testcheck.Must(t, (&Dir{FS: m, Location: l, newBase: c.newBase}).TakeBack(ctx, c.preflight))
		list, err := m.ReadDir(t.Context(), "/base")
		if (c.left == nil) != errors.Is(err, fs.ErrNotExist) || len(list) != len(c.left) {
			t.Errorf("%s: left is %v, %v", what, list, err)
			continue
		}
		for i, name := range c.left {
			if list[i].Name() != name {
				t.Errorf("%s: left is %s, want %s", what, list[i].Name(), name)
			}
		}
	}
}

// TestRemoveFails checks that a failed removal is an error, and that the base stays.
func TestRemoveFails(t *testing.T) {
	m := hdfsio.NewMemory()
	testcheck.Must(t, m.MkdirAll(t.Context(), "/base/job", 0o711))
	broken := errors.New("the NameNode is gone")
	faulty := &testfs.Faulty{FS: m, Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
		if op == testfs.OpRemoveAll {
			return &testfs.Fault{Err: broken}
		}
		return nil
	}}
	d := &Dir{FS: faulty, Location: hdfsio.Location{Path: "/base/job"}, newBase: true}
	if err := d.TakeBack(t.Context(), false); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := m.Stat(t.Context(), "/base/job"); err != nil {
		t.Errorf("the directory: %v", err)
	}
}
