package preflight

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// withConf returns the environment with some properties that override those of the files.
func withConf(t testing.TB, c *testcluster.Cluster, over map[string]string) *cluster.Env {
	t.Helper()
	env := jobtest.ClusterEnv(t, c)
	for key, value := range over {
		env.Conf.Set(key, value, "test")
	}
	return env
}

// A preflightFault is a fault that the check of the given name finds.
type preflightFault struct {
	fault    string
	check    string
	severity Severity
	want     string // in the message
	hint     string // in the hint
	prepare  func(t *testing.T, s *spec.Spec, o *Options) *cluster.Env
}

// A faultLab is a cluster with a healthy table, for faults elsewhere.
type faultLab struct {
	servers *testcluster.Cluster
	env     *cluster.Env
	admin   *testcluster.Admin
	healthy string
	owner   hdfsio.FS // as HBase's user
}

// do runs a command of the admin client.
func (lab *faultLab) do(t *testing.T, args ...string) {
	t.Helper()
	if _, err := lab.admin.Run(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// createTable creates a table with attributes and a changed family.
func (lab *faultLab) createTable(t *testing.T, attributes map[string]string, change func(*loader.Family)) string {
	t.Helper()
	c, err := lab.env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	parsed := loader.TableName{Namespace: "test", Qualifier: testcheck.Name(t)}
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

// TestPreflightFaults provokes faults one by one. The check for each must
// report it, with a hint.
func TestPreflightFaults(t *testing.T) {
	servers := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, servers)
	lab := &faultLab{servers: servers, env: env, admin: servers.AdminT(t), healthy: jobtest.FreshTable(t, env, 10, nil), owner: jobtest.UserFS(t, servers, "hbase")}
	for _, f := range slices.Concat(lab.tableFaults(), lab.jobFaults(), lab.placeFaults(), lab.inputFaults()) {
		t.Run(f.fault, func(t *testing.T) { lab.finds(t, f) })
	}
}

// finds provokes a fault, and checks that only its check reports it.
func (lab *faultLab) finds(t *testing.T, f preflightFault) {
	s := jobtest.Spec(t, "check")
	s.Regions = 10 // modulus for readers, whatever the table
	s.Table = lab.healthy
	var o Options
	with := f.prepare(t, &s, &o)
	if with == nil {
		with = lab.env
	}
	r := preflight(t, with, s, o)
	got, ok := r.Find(f.check)
	if !ok || got.Severity != f.severity || !strings.Contains(got.Message.String(), f.want) || !strings.Contains(got.Hint.String(), f.hint) {
		t.Errorf("got %+v, want a %s with %q and the hint %q", got, f.severity, f.want, f.hint)
	}
	for _, other := range r.Checks {
		if other.Name != f.check && other.Severity != SeverityOK {
			t.Errorf("found besides: %+v", other)
		}
	}
	if (r.Err() != nil) != (f.severity == SeverityError) || r.Err() != nil && (fail.KindOf(r.Err()) != fail.Check || !strings.Contains(r.Err().Error(), f.want)) {
		t.Errorf("as an error: %v", r.Err())
	}
}

// tableFaults returns faults of the table that is loaded.
func (lab *faultLab) tableFaults() []preflightFault {
	return []preflightFault{
		{"disabled", "table", SeverityError, "is DISABLED", "enable", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, nil, nil)
			lab.do(t, "disable", s.Table)
			return nil
		}},
		{"read-only", "table", SeverityError, "is read-only", "READONLY", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, map[string]string{"READONLY": "true"}, nil)
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
		{"mob", "mob", SeverityWarning, "values of more than", "compact", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, nil, func(f *loader.Family) { f.Attributes["IS_MOB"], f.Attributes["MOB_THRESHOLD"] = "true", "1000" })
			return nil
		}},
		{"replicated", "replication", SeverityOK, "(scope 1), but no peer takes it", "", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, nil, func(f *loader.Family) { f.Attributes["REPLICATION_SCOPE"] = "1" })
			return nil
		}},
	}
}

// jobFaults returns settings of the job that do not fit the table.
func (lab *faultLab) jobFaults() []preflightFault {
	return []preflightFault{
		{"settings of the job", "family", SeverityWarning, "bloom NONE instead of SNAPPY", "leave", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Bloom = "NONE"
			return nil
		}},
		{"secure by order, tracker FILE", "store-file tracker", SeverityError, "FILE", "`load_mode` direct", func(t *testing.T, s *spec.Spec, o *Options) *cluster.Env {
			s.Table = lab.createTable(t, map[string]string{"hbase.store.file-tracker.impl": "FILE"}, nil)
			o.Stage = loader.StageToken
			return nil
		}},
		{"timestamp older than the ttl", "ttl", SeverityError, "no reader would see a row", "`timestamp`", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, nil, func(f *loader.Family) { f.TTL = 3600 })
			s.Timestamp = time.Now().Add(-2 * time.Hour).UnixMilli()
			return nil
		}},
		{"timestamp of the future", "clock", SeverityWarning, "in the future", "`timestamp`", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Timestamp = time.Now().Add(2 * time.Hour).UnixMilli()
			return nil
		}},
		{"salt without a modulus", "key", SeverityError, "needs a modulus", "`salt_buckets`", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Table = lab.createTable(t, nil, nil)
			s.Key, s.Regions = "salt(check_id) + id", 0
			return nil
		}},
	}
}

// placeFaults returns faults of the staging directory and of the clusters.
func (lab *faultLab) placeFaults() []preflightFault {
	return []preflightFault{
		{"directory of mode 700", "staging path", SeverityError, "mode 0700", "chmod o+x /tmp/closed", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			fsys, _, err := lab.env.Resolve("hdfs:///")
			if err != nil {
				t.Fatal(err)
			}
			if err := fsys.MkdirAll(t.Context(), "/tmp/closed", 0o700); err != nil {
				t.Fatal(err)
			}
			o.Staging, o.Stage = "/tmp/closed/job", loader.StageDirect
			t.Cleanup(func() { _ = lab.owner.RemoveAll(context.Background(), "/tmp/closed") })
			return nil
		}},
		{"directory of another", "staging", SeverityError, "/others belongs to hbase", "that tina may write", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			if err := lab.owner.MkdirAll(t.Context(), "/others", 0o755); err != nil {
				t.Fatal(err)
			}
			o.Staging = "/others"
			return nil
		}},
		{"local staging", "staging", SeverityError, "is local", "HADOOP_CONF_DIR", func(_ *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.Staging = "file:///tmp"
			return nil
		}},
		{"another nameservice", "nameservice", SeverityError, "HBase on " + strings.TrimPrefix(lab.servers.HDFS(), "hdfs://"), "`staging` hdfs://", func(t *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.Staging = "hdfs://" + forwarded(t, strings.TrimPrefix(lab.servers.HDFS(), "hdfs://")) + "/tmp/bulkload-tina"
			return nil
		}},
		{"no cluster", "hbase", SeverityError, "unknown", "HBASE_CONF_DIR", func(t *testing.T, _ *spec.Spec, _ *Options) *cluster.Env {
			return withConf(t, lab.servers, map[string]string{"hbase.zookeeper.quorum": ""})
		}},
	}
}

// inputFaults returns faults of the input files and of the spill directory.
func (lab *faultLab) inputFaults() []preflightFault {
	return []preflightFault{
		{"input that is not there", "inputs", SeverityError, "/nowhere/x.csv", "path", func(_ *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			s.Inputs = []string{"/nowhere/x.csv"}
			return nil
		}},
		{"input of another", "inputs", SeverityError, "permission denied", "right to read", func(t *testing.T, s *spec.Spec, _ *Options) *cluster.Env {
			w, err := lab.owner.Create(t.Context(), "/secret.csv", hdfsio.CreateOptions{Perm: 0o600})
			if err == nil {
				_, err = w.Write([]byte("x"))
			}
			if err == nil {
				err = w.Finish()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lab.owner.Remove(context.Background(), "/secret.csv") })
			s.Inputs = []string{"hdfs:///secret.csv"}
			return nil
		}},
		{"spill directory that is not there", "spill directory", SeverityError, "/nowhere", "`spill_dir`", func(_ *testing.T, _ *spec.Spec, o *Options) *cluster.Env {
			o.SpillDir = "/nowhere"
			return nil
		}},
	}
}

// forwarded returns an address that forwards to another, like an alias that other
// machines cannot recognize as one.
func forwarded(t testing.TB, to string) string {
	t.Helper()
	l, err := testcheck.Forward("127.0.0.1:0", to, func(client, server net.Conn) {
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		_, _ = io.Copy(client, server)
	})
	testcheck.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
