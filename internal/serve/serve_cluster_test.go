package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// loadedOn serves a job file, rows, on a cluster, after its job has loaded the records.
func loadedOn(t *testing.T, env *cluster.Env, jobFile, csv string) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	s.write(t, "rows", jobFile)
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(csv), 0o644); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context) (Cluster, error) {
		c, err := env.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	var err error
	if s.Server, err = Open(Options{Jobs: s.dir, Dial: dial, Limits: Limits{Deadline: 30 * time.Second}, ProbeEvery: time.Hour}); err != nil {
		t.Fatal(err)
	}
	spec := s.resources().byName["rows"].job
	spec.Inputs = []string{file}
	if _, err := job.Run(t.Context(), env, spec, job.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s.held.cluster = c
	return s
}

// onCluster serves a table of the test cluster with rows n00000… of one column each, and is ready.
func onCluster(t *testing.T, rows int, splits ...string) (s *service, table string) {
	t.Helper()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	var at [][]byte
	for _, split := range splits {
		at = append(at, []byte(split))
	}
	table = jobtest.FreshTableAt(t, env, at, nil)
	text := "table: " + table + "\nkey: salt(user) + user + '|' + id\nquery: [user]\ncolumns: [user, id, n, text]\ncells:\n- {column: n, type: int}\n- {rest: true}\n"
	var csv strings.Builder
	csv.WriteString("user,id,n,text\n")
	for i := range rows {
		fmt.Fprintf(&csv, "u%d,%05d,%d,%s\n", i%7, i, i, strings.Repeat("行", i%5))
	}
	s = loadedOn(t, env, text, csv.String())
	s.probeAll(t.Context())
	if r := s.get("/readyz"); r.status != 200 {
		t.Fatal(r.body)
	}
	return s, table
}

// all walks the pages of a query and returns the ids; between is called after each page.
func (s *service) all(t *testing.T, path string, limit int, between func(page int)) []string {
	t.Helper()
	var ids []string
	for n, page := 0, ""; ; n++ {
		r := s.get(fmt.Sprintf("%slimit=%d%s", path, limit, page))
		if r.status != 200 {
			t.Fatalf("page %d: %d %s", n, r.status, r.body)
		}
		ids = append(ids, strings.Fields(r.ids())...)
		if r.Next == nil {
			return ids
		}
		page = "&page=" + *r.Next
		between(n)
	}
}

// TestClusterChanges reads pages while regions split and merge: each row is returned once, in order. Numbers are
// numbers.
func TestClusterChanges(t *testing.T) {
	t.Parallel()
	const rows = 2100
	s, table := onCluster(t, rows, "1", "2", "2u4") // three salts, the last in two regions
	admin := testcluster.Shared(t).AdminT(t)
	do := func(args ...string) {
		t.Helper()
		if _, err := admin.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.get("/v1/rows/rows?user=u3&limit=1"); !strings.Contains(r.body, `{"n":3,"user":"u3","id":"00003","text":"行行行"}`) {
		t.Errorf("%s", r.body)
	}
	var want []string
	for i := range rows {
		want = append(want, fmt.Sprintf("%05d", i))
	}
	slices.SortFunc(want, func(a, b string) int { // by user, then id
		var x, y int
		fmt.Sscan(strings.TrimLeft(a[:4], "0")+a[4:], &x)
		fmt.Sscan(strings.TrimLeft(b[:4], "0")+b[4:], &y)
		if x%7 != y%7 {
			return x%7 - y%7
		}
		return x - y
	})
	got := s.all(t, "/v1/rows/scan?", 500, func(page int) {
		switch page {
		case 0:
			do("split", table, "1u3")
		case 1:
			do("split", table, "0u5")
		case 2:
			do("merge", table, "2", "2u4")
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if got := s.all(t, "/v1/rows/rows?user=u4&", 77, func(int) {}); len(got) != rows/7 || got[0] != "00004" {
		t.Errorf("%d rows of u4", len(got))
	}
}

// TestClusterStates checks that a disabled table and a deleted one are refused by name, and that the table is read
// when it is enabled again.
func TestClusterStates(t *testing.T) {
	t.Parallel()
	s, table := onCluster(t, 70, "1", "2")
	admin := testcluster.Shared(t).AdminT(t)
	s.limits.Deadline = time.Second
	if _, err := admin.Run(t.Context(), "disable", table); err != nil {
		t.Fatal(err)
	}
	if r := s.get("/v1/rows/rows?user=u1"); r.status != 504 && r.status != 503 || r.Rows != nil {
		t.Errorf("disabled: %d %s", r.status, r.body)
	}
	s.probeAll(t.Context())
	s.get("/v1/rows/rows?user=u1").refuses(t, "disabled", tableDisabled)
	if _, err := admin.Run(t.Context(), "enable", table); err != nil {
		t.Fatal(err)
	}
	s.limits.Deadline = 30 * time.Second
	s.probeAll(t.Context())
	if got := s.all(t, "/v1/rows/rows?user=u1&", 3, func(int) {}); len(got) != 10 {
		t.Errorf("in service again: %v", got)
	}
	// It was replaced by a table with another number of salts, which has no rows: no response says that there are
	// none.
	name, err := loader.ParseTableName(table)
	if err != nil {
		t.Fatal(err)
	}
	c := s.held.cluster.(*loader.Cluster)
	if err := c.DeleteTable(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if r := s.get("/v1/rows/rows?user=u1"); r.status < 500 || r.Rows != nil {
		t.Errorf("dropped: %d %s", r.status, r.body)
	}
	recreate := func(splits ...[]byte) {
		jobtest.MakeTable(t, jobtest.ClusterEnv(t, testcluster.Shared(t)), c, loader.TableSpec{Name: name, Families: []loader.Family{{Name: "f"}}, SplitKeys: splits})
	}
	recreate([]byte("1"), []byte("2"), []byte("3"), []byte("4"))
	if r := s.get("/v1/rows/rows?user=u1"); r.status < 500 || r.Rows != nil {
		t.Errorf("replaced: %d %s", r.status, r.body)
	}
	s.probeAll(t.Context())
	s.get("/v1/rows/rows?user=u1").refuses(t, "replaced", tableChanged)
	// It is replaced again, by one with the first number, unknown to the service.
	if _, err := admin.Run(t.Context(), "drop", table); err != nil {
		t.Fatal(err)
	}
	recreate([]byte("1"), []byte("2"))
	s.probeAll(t.Context())
	if r := s.get("/v1/rows/rows?user=u1"); r.status != 200 {
		t.Errorf("replaced by a table like the first: %d %s", r.status, r.body)
	}
}

// TestClusterIndex reads rows by an index that a run has filled: each once, by pages, while the index's region splits; a disabled
// index is refused, and the table can still be read.
func TestClusterIndex(t *testing.T) {
	t.Parallel()
	const rows = 700
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	table, index := jobtest.FreshTableAt(t, env, [][]byte{[]byte("1")}, nil), jobtest.FreshTableAt(t, env, nil, nil)
	var csv strings.Builder
	csv.WriteString("user,id,n\n")
	var want []string
	for i := range rows {
		fmt.Fprintf(&csv, "u%d,%05d,%d\n", i%7, i, i%2)
		if i%2 == 1 {
			want = append(want, fmt.Sprintf("%05d", i))
		}
	}
	s := loadedOn(t, env, "table: "+table+"\nkey: salt(user) + user + '|' + id\nquery: [user]\ncolumns: [user, id, n]\ntables:\n- index: by_n\n  table: "+index+
		"\n  key: n + '|' + id\n", csv.String())
	admin := testcluster.Shared(t).AdminT(t)
	got := s.all(t, "/v1/rows/rows?by=by_n&n=1&", 100, func(page int) {
		if page == 0 {
			if _, err := admin.Run(t.Context(), "split", index, "1|00300"); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if _, err := admin.Run(t.Context(), "disable", index); err != nil {
		t.Fatal(err)
	}
	s.limits.Deadline = time.Second
	if r := s.get("/v1/rows/rows?by=by_n&n=1"); r.status != 503 && r.status != 504 || r.Rows != nil {
		t.Errorf("an index out of service: %d %s", r.status, r.body)
	}
	s.limits.Deadline = 30 * time.Second
	if r := s.get("/v1/rows/rows?user=u1&limit=5"); r.status != 200 || len(r.Rows) != 5 {
		t.Errorf("the table of an index out of service: %d %s", r.status, r.body)
	}
}
