package preflight

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/jobtest"
	"bulkload/internal/testcheck"
	"bulkload/internal/testcluster"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/spec"
)

// withConf is the world with some properties set over those of the files.
func withConf(t testing.TB, c *testcluster.Cluster, over map[string]string) *cluster.Env {
	t.Helper()
	env := jobtest.ClusterEnv(t, c)
	for key, value := range over {
		env.Conf.Set(key, value, "test")
	}
	return env
}

// preflight checks, and says what the checks found when the test fails.
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

// TestPreflight finds nothing wrong with a healthy table, looks at all that
// the job depends on, and leaves nothing behind.
func TestPreflight(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = jobtest.FreshTable(t, env, 10, nil), []string{jobtest.Absolute(t, filepath.Join(jobtest.Exports, "check.csv"))}
	base := "/tmp/check-" + path.Base(t.TempDir()) + t.Name()
	r := preflight(t, env, s, Options{Staging: base})
	if r.Errors != 0 || r.Warnings != 0 || r.Err() != nil {
		t.Errorf("%d errors, %d warnings, %v", r.Errors, r.Warnings, r.Err())
	}
	for _, name := range []string{"version", "table", "family", "store-file tracker", "regions", "region size", "key", "right to load",
		"hbase staging", "security", "nameservice", "staging path", "staging", "clock", "inputs", "spill directory", "open files"} {
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
	left, err := jobtest.UserFS(t, cluster, "hbase").ReadDir(t.Context(), "/hbase/staging") // others load meanwhile
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

// TestPreflightFaults provokes a fault each, which the check of its own name
// finds, with a hint.
func TestPreflightFaults(t *testing.T) {
	servers := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, servers)
	admin := servers.AdminT(t)
	adm := func(t *testing.T, args ...string) {
		t.Helper()
		if _, err := admin.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	createTable := func(t *testing.T, attributes map[string]string, change func(*loader.Family)) string {
		t.Helper()
		c, err := env.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		parsed := loader.TableName{Namespace: "test", Qualifier: fmt.Sprintf("t%x", rand.Uint64())}
		f := loader.Family{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROW", Attributes: map[string]string{}}
		if change != nil {
			change(&f)
		}
		if err := c.CreateTable(t.Context(), loader.TableSpec{Name: parsed, Families: []loader.Family{f}, Attributes: attributes,
			SplitKeys: [][]byte{[]byte("m")}}); err != nil {
			t.Fatal(err)
		}
		return parsed.String()
	}
	healthy := jobtest.FreshTable(t, env, 10, nil)
	asOwner := jobtest.UserFS(t, servers, "hbase")
	for _, c := range []struct {
		fault    string
		check    string
		severity Severity
		want     string // in the message
		hint     string // in the hint
		prepare  func(t *testing.T, s *spec.Spec, o *Options) *cluster.Env
	}{
		{"disabled", "table", SeverityError, "is DISABLED", "enable", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, nil, nil)
			adm(t, "disable", s.Table)
			return nil
		}},
		{"read-only", "table", SeverityError, "is read-only", "READONLY", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, map[string]string{"READONLY": "true"}, nil)
			return nil
		}},
		{"missing table", "table", SeverityError, "does not exist", "table create test:nothere", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = "test:nothere"
			return nil
		}},
		{"missing family", "family", SeverityError, `no family "g" (families: f)`, "`family`", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Family = "g"
			return nil
		}},
		{"settings of the job", "family", SeverityWarning, "bloom NONE in place of SNAPPY", "leave", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Bloom = "NONE"
			return nil
		}},
		{"mob", "mob", SeverityWarning, "large values", "compact", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, nil, func(f *loader.Family) { f.Attributes["IS_MOB"], f.Attributes["MOB_THRESHOLD"] = "true", "1000" })
			return nil
		}},
		{"replicated", "replication", SeverityOK, "(scope 1), and no peer takes it", "", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, nil, func(f *loader.Family) { f.Attributes["REPLICATION_SCOPE"] = "1" })
			return nil
		}},
		{"secure by order, tracker FILE", "store-file tracker", SeverityError, "FILE", "`load_mode` direct", func(t *testing.T, s *spec.Spec, o *Options) *cluster.Env {
			s.Table = createTable(t, map[string]string{"hbase.store.file-tracker.impl": "FILE"}, nil)
			o.Stage = loader.StageToken
			return nil
		}},
		{"timestamp older than the ttl", "ttl", SeverityError, "nobody would see a row", "`timestamp`", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, nil, func(f *loader.Family) { f.TTL = 3600 })
			s.Timestamp = time.Now().Add(-2 * time.Hour).UnixMilli()
			return nil
		}},
		{"timestamp of the future", "clock", SeverityWarning, "in the future", "`timestamp`", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Timestamp = time.Now().Add(2 * time.Hour).UnixMilli()
			return nil
		}},
		{"salt without a modulus", "key", SeverityError, "needs a modulus", "`salt_buckets`", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = createTable(t, nil, nil)
			s.Key, s.Regions = "salt(check_id) + id", 0
			return nil
		}},
		{"directory of mode 700", "staging path", SeverityError, "mode 0700", "chmod o+x /tmp/closed", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			fsys, _, err := env.Resolve("hdfs:///")
			if err != nil {
				t.Fatal(err)
			}
			if err := fsys.MkdirAll(t.Context(), "/tmp/closed", 0o700); err != nil {
				t.Fatal(err)
			}
			o.Staging = "/tmp/closed/job"
			t.Cleanup(func() { _ = asOwner.RemoveAll(context.Background(), "/tmp/closed") })
			return nil
		}},
		{"directory of another", "staging", SeverityError, "user tina cannot", "`staging`", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			if err := asOwner.MkdirAll(t.Context(), "/others", 0o755); err != nil {
				t.Fatal(err)
			}
			o.Staging = "/others"
			return nil
		}},
		{"local staging", "staging", SeverityError, "is local", "HADOOP_CONF_DIR", func(_ *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.Staging = "file:///tmp"
			return nil
		}},
		{"another nameservice", "nameservice", SeverityError, "HBase on " + strings.TrimPrefix(servers.HDFS(), "hdfs://"), "`staging` hdfs://", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.Staging = "hdfs://" + forwarded(t, strings.TrimPrefix(servers.HDFS(), "hdfs://")) + "/tmp/bulkload-tina"
			return nil
		}},
		{"no cluster", "hbase", SeverityError, "not known", "HBASE_CONF_DIR", func(t *testing.T, _ *spec.Spec, _ *Options) *cluster.Env {
			return withConf(t, servers, map[string]string{"hbase.zookeeper.quorum": ""})
		}},
		{"input that is not there", "inputs", SeverityError, "/nowhere/x.csv", "path", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Inputs = []string{"/nowhere/x.csv"}
			return nil
		}},
		{"input of another", "inputs", SeverityError, "permission denied", "may read", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			w, err := asOwner.Create(t.Context(), "/secret.csv", hdfsio.CreateOptions{Perm: 0o600})
			if err == nil {
				_, err = w.Write([]byte("x"))
			}
			if err == nil {
				err = w.Finish()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = asOwner.Remove(context.Background(), "/secret.csv") })
			s.Inputs = []string{"hdfs:///secret.csv"}
			return nil
		}},
		{"spill directory that is not there", "spill directory", SeverityError, "/nowhere", "`spill_dir`", func(_ *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.SpillDir = "/nowhere"
			return nil
		}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			s := jobtest.Spec(t, "check")
			s.Regions = 10 // readers' modulus, whatever the table
			s.Table = healthy
			var o Options
			with := c.prepare(t, &s, &o)
			if with == nil {
				with = env
			}
			r := preflight(t, with, s, o)
			got, ok := r.Find(c.check)
			if !ok || got.Severity != c.severity || !strings.Contains(got.Message.String(), c.want) || !strings.Contains(got.Hint.String(), c.hint) {
				t.Errorf("got %+v, want a %s with %q and the hint %q", got, c.severity, c.want, c.hint)
			}
			for _, other := range r.Checks {
				if other.Name != c.check && other.Severity != SeverityOK {
					t.Errorf("found besides: %+v", other)
				}
			}
			if (r.Err() != nil) != (c.severity == SeverityError) || r.Err() != nil && (fail.KindOf(r.Err()) != fail.Check || !strings.Contains(r.Err().Error(), c.want)) {
				t.Errorf("as an error: %v", r.Err())
			}
		})
	}
}

// TestPreflightHole takes a region out of hbase:meta: its row says that it is
// offline, as the parent of a split that was lost.
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
	// RegionInfo of HBase.proto, of which all bytes are letters to the admin client.
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

// lengthAnd is a message with its length before it, fieldOf as a field.
func lengthAnd(body string) string { return string(rune(len(body))) + body }

func fieldOf(number rune, body string) string { return string(number<<3|2) + lengthAnd(body) }

// forwarded is an address that leads to another, as an alias that nobody can
// know for one does.
func forwarded(t testing.TB, to string) string {
	t.Helper()
	return testcheck.Serve(t, func(in net.Conn) {
		out, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer out.Close()
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		_, _ = io.Copy(in, out)
	}).Addr().String()
}

// BenchmarkPreflight looks at a healthy table, as each run does.
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

// TestWhatServersObserve: servers say by their coprocessors that they replicate bulk loads.
func TestWhatServersObserve(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster of its own")
	}
	servers, err := testcluster.Start(t.Context(), testcluster.Options{HBaseSite: map[string]string{
		"hbase.replication.bulkload.enabled": "true", "hbase.replication.cluster.id": "test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Stop(); err != nil {
			t.Error(err)
		}
	})
	env := jobtest.ClusterEnv(t, servers)
	s := jobtest.Spec(t, "check")
	s.Table = jobtest.FreshTable(t, env, 10, nil)
	for deadline := time.Now().Add(time.Minute); ; { // a server reports every three seconds what it has loaded
		r := preflight(t, env, s, Options{})
		if c, ok := r.Find("coprocessors"); ok && c.Severity == SeverityOK && strings.Contains(c.Message.String(), "ReplicationObserver notes the files for replication") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no server says that it replicates bulk loads")
		}
	}
}
