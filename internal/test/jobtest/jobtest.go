// Package jobtest has helpers for tests of jobs in many packages: the example job files and exports, an environment
// without a cluster, and tables on the shared test cluster.
package jobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// Env returns an environment without a cluster, which is closed at the end of the test.
func Env(t testing.TB) *cluster.Env {
	t.Helper()
	return env(t, func(string) (string, bool) { return "", false })
}

// env returns an environment with the configuration that variables name, which is closed at the end of the test.
func env(t testing.TB, lookup func(variable string) (string, bool)) *cluster.Env {
	t.Helper()
	conf, err := hdfsio.LoadConf(lookup)
	testcheck.Must(t, err)
	env := &cluster.Env{Conf: conf, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	return env
}

// Spec returns the example job file of a table: check or opinion.
func Spec(t testing.TB, name string) spec.Spec {
	t.Helper()
	b, err := os.ReadFile(testcheck.Path(t, "examples", name+".yaml"))
	testcheck.Must(t, err)
	s, err := spec.ParseSpec(name, b)
	testcheck.Must(t, err)
	return *s
}

// Family has the settings of the family f in test tables.
var Family = spec.Family{Name: "f", Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow}

// Absolute returns an absolute path, which a job accepts in any directory.
func Absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	testcheck.Must(t, err)
	return abs
}

// Hashes returns the SHA-256 of every HFile of a build by its name.
func Hashes(t testing.TB, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifest.FileName {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		sums[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	testcheck.Must(t, err)
	return sums
}

// DigestLine returns the generator's digest of a loaded table, with a salt for each region of the examples: 10 for
// check, 50 for opinion.
func DigestLine(t testing.TB, table, empty string) string {
	t.Helper()
	return SaltedDigestLine(t, table, empty, map[string]int{"check": 10, "opinion": 50}[table])
}

// SaltedDigestLine is DigestLine with a number of salts, which the file of the digests must have.
func SaltedDigestLine(t testing.TB, table, empty string, salts int) string {
	t.Helper()
	b, err := os.ReadFile(Export(t, table+".digest"))
	testcheck.Must(t, err)
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), fmt.Sprintf("%s %d ", empty, salts)); found {
			return rest
		}
	}
	t.Fatalf("no digest of %s for %s and %d salts", table, empty, salts)
	return ""
}

// Export returns the path of an export in testdata.
func Export(t testing.TB, name string) string {
	t.Helper()
	return testcheck.Path(t, "testdata", "exports", name)
}

// ManyRecords writes a dump large enough to spill with the minimal budget.
func ManyRecords(t testing.TB, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%016X%016X\x01K%d", r.Uint64(), r.Uint64(), i/20)
		for c := range 16 {
			b.WriteByte(1)
			if c%5 != 4 {
				fmt.Fprintf(&b, "%d 拒绝 %d", c, r.IntN(1000))
			}
		}
		b.WriteByte(0x10)
	}
	name := filepath.Join(t.TempDir(), "check.dump")
	testcheck.Must(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

// ClusterEnv returns the environment of user tina, not of hbase, on the test cluster.
func ClusterEnv(t testing.TB, c *testcluster.Cluster) *cluster.Env {
	t.Helper()
	return ClusterEnvAs(t, c, "tina")
}

// ClusterEnvAs returns the environment of a user on the test cluster.
func ClusterEnvAs(t testing.TB, c *testcluster.Cluster, user string) *cluster.Env {
	t.Helper()
	return env(t, func(name string) (string, bool) {
		switch name {
		case "HADOOP_CONF_DIR", "HBASE_CONF_DIR":
			return c.ConfDir(), true
		case "HADOOP_USER_NAME":
			return user, true
		}
		return "", false
	})
}

// FreshTable creates a new salted table for a test.
func FreshTable(t testing.TB, env *cluster.Env, salts int, change func(*loader.Family)) string {
	t.Helper()
	return FreshTableAt(t, env, partition.SaltSplits(salts), change)
}

// FreshTableAt creates a table with these split points.
func FreshTableAt(t testing.TB, env *cluster.Env, splits [][]byte, change func(*loader.Family)) string {
	t.Helper()
	c, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	name := "test:" + testcheck.Name(t)
	parsed, err := loader.ParseTableName(name)
	testcheck.Must(t, err)
	f := loader.Family{Name: "f", Compression: testcluster.Codec(), Encoding: "FAST_DIFF", Bloom: "ROW"}
	if change != nil {
		change(&f)
	}
	spec := loader.TableSpec{Name: parsed, CreateNamespace: true, SplitKeys: splits, Families: []loader.Family{f}}
	MakeTable(t, env, c, spec)
	return name
}

// MakeTable creates a table that is deleted at the end of the test.
func MakeTable(t testing.TB, env *cluster.Env, c *loader.Cluster, spec loader.TableSpec) {
	t.Helper()
	testcheck.Must(t, c.CreateTable(t.Context(), spec))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute) // the test's own context has ended by now
		defer cancel()
		c, err := env.Dial(ctx)
		if err != nil {
			return // the cluster is removed after the tests
		}
		defer c.Close()
		_ = c.DeleteTable(ctx, spec.Name)
	})
}

// UserFS returns the file system as another user.
func UserFS(t testing.TB, c *testcluster.Cluster, user string) hdfsio.FS {
	t.Helper()
	h, err := hdfsio.NewHDFS(hdfsio.HDFSOptions{Addresses: []string{strings.TrimPrefix(c.HDFS(), "hdfs://")}, User: user})
	testcheck.Must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// CSVSpec returns a job of CSV files with a column id as the key.
func CSVSpec(inputs ...string) spec.Spec {
	return spec.Spec{Table: "t", Key: "id", Inputs: inputs, Timestamp: 1700000000000}
}

// TableSpec returns the example spec of a table with one input file.
func TableSpec(t *testing.T, table data.Table, input, format string) spec.Spec {
	s := Spec(t, string(table))
	s.Inputs, s.Format = []string{input}, format
	return s
}

// Resolve returns the job of a valid spec, whose key may be missing.
func Resolve(t testing.TB, s spec.Spec) spec.Job {
	t.Helper()
	resolve := s.Resolve
	if s.Key == "" {
		resolve = s.ResolveTable
	}
	j, err := resolve()
	testcheck.Must(t, err)
	return j
}
