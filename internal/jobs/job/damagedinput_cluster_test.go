package job

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// TestInputWithAFlippedBitOnDiskIsNotLoaded flips a bit in the only replica of an export on HDFS. Nothing is loaded; when the replica is repaired,
// the same job loads all rows.
func TestInputWithAFlippedBitOnDiskIsNotLoaded(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	for _, export := range []string{"check.csv", "check.dump", "check.parquet"} {
		t.Run(export, func(t *testing.T) {
			t.Parallel()
			env := jobtest.ClusterEnv(t, cluster)
			table := jobtest.FreshTable(t, env, 10, nil)
			fsys, dir, err := env.Resolve("hdfs:///tmp/damaged-input-" + testcheck.Name(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := fsys.MkdirAll(t.Context(), dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = fsys.RemoveAll(context.Background(), dir) })
			content := jobtest.ReadWhole(t, hdfsio.Local{}, jobtest.Export(t, export))
			name := path.Join(dir, export)
			if err := writeOver(t.Context(), fsys, name, content); err != nil {
				t.Fatal(err)
			}
			block := replica(t, cluster, content)
			flipReplica(t, block, false)

			s := jobtest.Spec(t, "check")
			s.Table, s.Inputs, s.Verify = table, []string{"hdfs://" + name}, "off"
			var o RunOptions
			o.State.Dir = t.TempDir()
			_, err = Run(t.Context(), env, jobtest.Resolve(t, s), o)
			if fail.KindOf(err) != fail.HDFS || !errors.Is(err, hdfsio.ErrBlockChecksum) || !strings.Contains(err.Error(), "hdfs fsck "+name) {
				t.Errorf("kind %d: %v", fail.KindOf(err), err)
			}
			noRows(t, cluster, table)

			flipReplica(t, block, false) // repaired
			if _, err = Run(t.Context(), env, jobtest.Resolve(t, s), o); err != nil {
				t.Fatal(err)
			}
			got, err := cluster.AdminT(t).Digest(t.Context(), table)
			if want := jobtest.DigestLine(t, "check", "skip"); got != want || err != nil {
				t.Errorf("the table has %s, want %s, %v", got, want, err)
			}
		})
	}
}
