package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestTiersByValue loads rows of three years into a table whose compactions put rows into tiers by a value (CustomTieredStoreEngine). Its files lack
// the metadata with their values: HBase's first major compaction writes it, the second one makes the tiers, as the warning says, and no row is lost.
func TestTiersByValue(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	if c.Version() != testcluster.DefaultHBase {
		t.Skip("the store engine came with HBase 2.6, and without it a region never opens")
	}
	env := jobtest.ClusterEnv(t, c)
	table := jobtest.FreshTableAt(t, env, nil, func(f *loader.Family) {
		f.Configuration = map[string]string{"hbase.hstore.engine.class": "org.apache.hadoop.hbase.regionserver.CustomTieredStoreEngine",
			"TIERING_CELL_QUALIFIER": "n", "hbase.hstore.compaction.date.tiered.custom.age.limit.millis": fmt.Sprint((365 * 24 * time.Hour).Milliseconds())}
	})
	var b strings.Builder
	b.WriteString("id,n,v\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "k%05d,%d,v\n", i, time.Now().AddDate(-(i%3), 0, -1).UnixMilli())
	}
	in := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(in, []byte(b.String()), 0o600))
	s := jobtest.CSVSpec(in)
	s.Table, s.Family, s.Verify = table, "f", "full"
	s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Type: "long"}, {Column: "v"}}}
	var hints []string
	warn := progress.Events{OnWarn: func(_ string, kv ...any) { hints = append(hints, fmt.Sprint(kv...)) }}
	_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{WorkOptions: build.WorkOptions{Events: warn}, State: checkpoint.Options{Dir: t.TempDir()}})
	testcheck.Must(t, err)
	if said := strings.Join(hints, "\n"); !strings.Contains(said, "major_compact '"+table+"' twice") {
		t.Errorf("warnings: %s", said)
	}
	admin := func(args ...string) string {
		t.Helper()
		out, err := c.AdminT(t).Run(t.Context(), args...)
		testcheck.Must(t, err)
		return out
	}
	want := admin("digest", table)
	if !strings.HasPrefix(want, "rows=3000 cells=6000") {
		t.Error(want)
	}
	name, err := loader.ParseTableName(table)
	testcheck.Must(t, err)
	con, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer con.Close()
	admin("major-compact", table) // waits until there is one file
	if got := admin("digest", table); got != want {
		t.Errorf("compacted, the table has %s, want %s", got, want)
	}
	regions, err := con.Regions(t.Context(), name)
	testcheck.Must(t, err)
	testcheck.Must(t, con.Compact(t.Context(), regions[0], "f", true))
	testcheck.Eventually(t, 2*time.Minute, "the rows are in two tiers", func() (bool, any) {
		status, err := con.Status(t.Context())
		testcheck.Must(t, err)
		n := status.StoreFiles[string(regions[0].Name)]
		return n == 2, n
	})
	if got := admin("digest", table); got != want {
		t.Errorf("in tiers, the table has %s, want %s", got, want)
	}
}
