package preflight

import (
	"path"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// preflight runs the checks, and logs their findings if the test fails.
func preflight(t testing.TB, env *cluster.Env, s spec.Spec, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, c := range r.Checks {
				t.Logf("%s: %s: %s -> %s", c.Severity, c.Name, c.Message, c.Hint)
			}
		}
	})
	return r
}

// TestPreflight checks that nothing is wrong with a healthy table, that
// everything that the job depends on is checked, and that nothing is left behind.
func TestPreflight(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = jobtest.FreshTable(t, env, 10, nil), []string{jobtest.Export(t, "check.csv")}
	base := "/tmp/check-" + path.Base(t.TempDir()) + t.Name()
	r := preflight(t, env, s, Options{Staging: base})
	if r.Errors != 0 || r.Warnings != 0 || r.Err() != nil {
		t.Errorf("%d errors, %d warnings, %v", r.Errors, r.Warnings, r.Err())
	}
	for _, name := range []string{"version", "table", "family", "store-file tracker", "regions", "region size", "key", "right to load",
		"hbase staging", "security", "nameservice", "staging", "clock", "inputs", "spill directory", "open files"} {
		if c, ok := r.Find(name); !ok || c.Message.IsZero() || !c.Hint.IsZero() {
			t.Errorf("check %s: %+v", name, c)
		}
	}
	fsys, _, err := env.Resolve("hdfs:///")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat(t.Context(), base); err == nil {
		t.Errorf("the check left %s behind", base)
	}
	left, err := jobtest.UserFS(t, cluster, "hbase").ReadDir(t.Context(), "/hbase/staging") // other loads run meanwhile
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(s.Table, ":")
	for _, x := range left {
		if strings.Contains(x.Name(), name) {
			t.Errorf("left behind in HBase's staging directory: %s", x.Name())
		}
	}
}

// TestPreflightHole makes a hole in hbase:meta: the row of a region marks it as
// offline, like the parent of a split that was lost.
func TestPreflightHole(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	s := spec.Spec{Table: jobtest.FreshTable(t, env, 4, nil)}
	name, err := loader.ParseTableName(s.Table)
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	regions, err := c.Regions(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	// RegionInfo of HBase.proto, whose bytes are all letters to the admin client.
	info := "PBUF\x08\x01\x12" + lengthAnd(fieldOf(1, name.Namespace)+fieldOf(2, name.Qualifier)) + fieldOf(3, "1") + fieldOf(4, "2") + "\x28\x01"
	if _, err := cluster.AdminT(t).Run(t.Context(), "put", "hbase:meta", string(regions[1].Name), "info:regioninfo", info); err != nil {
		t.Fatal(err)
	}
	r := preflight(t, env, s, Options{Cluster: c})
	got, _ := r.Find("regions")
	if got.Severity != SeverityError || !strings.Contains(got.Message.String(), `one ends at "1" and the next begins at "2"`) || !strings.Contains(got.Hint.String(), "hbck2") {
		t.Errorf("%+v", got)
	}
}

// lengthAnd returns a message preceded by its length, fieldOf a message as a field.
func lengthAnd(body string) string { return string(rune(len(body))) + body }

func fieldOf(number rune, body string) string { return string(number<<3|2) + lengthAnd(body) }

// BenchmarkPreflight checks a healthy table, as each run does.
func BenchmarkPreflight(b *testing.B) {
	env := jobtest.ClusterEnv(b, testcluster.Shared(b))
	s := jobtest.Spec(b, "check")
	s.Table = jobtest.FreshTable(b, env, 10, nil)
	for b.Loop() {
		r, err := Run(b.Context(), env, jobtest.Resolve(b, s), Options{})
		if err != nil || r.Errors > 0 {
			b.Fatal(err, r.Err())
		}
	}
}

// TestWhatServersObserve checks that servers report by their coprocessors that they replicate bulk loads.
func TestWhatServersObserve(t *testing.T) {
	servers := testcluster.Own(t, testcluster.Guarded())
	env := jobtest.ClusterEnvAs(t, servers, "hbase")
	s := jobtest.Spec(t, "check")
	s.Table = jobtest.FreshTable(t, env, 10, nil)
	// A server reports every three seconds what it has loaded.
	testcheck.Eventually(t, 2*time.Minute, "a server says that it replicates bulk loads", func() (bool, any) {
		r := preflight(t, env, s, Options{})
		c, ok := r.Find("coprocessors")
		return ok && c.Severity == SeverityOK && strings.Contains(c.Message.String(), "ReplicationObserver notes the files for replication"), c
	})
}

// Find returns the first check of a name with the highest severity, false if
// there is none.
func (r *Report) Find(name string) (c Check, ok bool) {
	for _, have := range r.Checks {
		if have.Name == name && (!ok || have.Severity > c.Severity) {
			c, ok = have, true
		}
	}
	return c, ok
}
