package tablesource_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"
)

// asker returns a function that runs commands of HBase's own client.
func asker(t *testing.T, c *testcluster.Cluster) func(...string) string {
	admin := c.AdminT(t)
	return func(args ...string) string {
		t.Helper()
		said, err := admin.Run(t.Context(), args...)
		testcheck.Must(t, err)
		return said
	}
}

// mounted opens a table or a snapshot as an input of a job.
func mounted(t *testing.T, env *cluster.Env, input string, src *tablesource.Source, columns ...string) *source.Input {
	t.Helper()
	src.Mount(env, input, nil)
	in, err := source.Open(t.Context(), env.Source, []string{input}, source.Options{Columns: columns, ChunkSize: 8 << 10})
	testcheck.Must(t, err)
	return in
}

// TestScanIsTheSnapshot reads a table by scans and compares cells and records with those of its snapshot: rows overwritten and
// deleted by each kind of marker, two families, cells expired and in memory. A region is split during a scan, and two are merged.
func TestScanIsTheSnapshot(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env, ask := jobtest.ClusterEnv(t, c), asker(t, c)
	const count = 4000
	name := livedTable(t, env, count, ask)
	table, err := loader.ParseTableName(name)
	testcheck.Must(t, err)
	ref := tablesource.Ref{Table: table}
	open := func(by tablesource.ReadBy) *tablesource.Source {
		t.Helper()
		src, err := tablesource.Open(t.Context(), env, ref, tablesource.Options{By: by})
		testcheck.Must(t, err)
		t.Cleanup(func() { testcheck.Must(t, src.Close(context.WithoutCancel(t.Context()))) })
		return src
	}
	files, scan := open(tablesource.ByFiles), open(tablesource.ByScan)
	if scan.Snapshot != nil || scan.Denied != nil || len(scan.Scanned.Starts) != 5 {
		t.Fatalf("by scans: %+v", scan)
	}
	scan.Scanned.ChunkBytes = 32 << 10

	columns := []string{"$row", "$timestamp", "f:id", "f:last", "$timestamp:f:check_id", "f:check_id", "f:hit_ind", "g:note", "$timestamp:g:note"}
	want, _ := texts(t, mounted(t, env, "hbase:"+name, files, columns...))
	in := mounted(t, env, "hbase:"+name, scan, columns...)
	var got []string
	r, cut := in.NewReader(), 0
	for i := range in.Splits() {
		first := true
		testcheck.Must(t, r.Read(t.Context(), i, func(b *source.Batch) error {
			if first && i == 0 { // the files of regions that were split before are still halves
				cut++
				ask("split", name, string(b.Field(b.Rows-1, 0))+"~")
			}
			if first && i == 3 {
				cut++
				ask("merge", name, string(b.Field(0, 0)), "3~")
			}
			first = false
			got = append(got, recordsOf(b)...)
			return nil
		}))
	}
	if !slices.Equal(got, want) || len(want) < count*9/10 {
		t.Errorf("by scans %d records, by files %d: %s", len(got), len(want), firstDifference(got, want))
	}
	if torn := scan.Scanned.Torn(); cut != 2 || torn < 2 {
		t.Errorf("%d regions were changed in mid-scan, %d parts noticed", cut, torn)
	}
	t.Logf("%d records, %d parts of %d interrupted", len(got), scan.Scanned.Torn(), len(scan.Scanned.Starts))

	// Compare cell by cell, with timestamps, also in columns that are not read, and for some rows and columns, from the time of the load on
	// and before it.
	some := choice.Choice{Ranges: []keyrange.Range{{Start: []byte("1"), Stop: []byte("2")}, {Start: []byte("25"), Stop: []byte("31")}, {Start: []byte("38")}}, Columns: []choice.Column{{Family: "f", Qualifier: []byte("last")}, {Family: "g"}}}
	late, early := some, choice.Choice{Columns: []choice.Column{{Family: "g"}, {Family: "f", Qualifier: []byte("id")}}}
	loaded, err := strconv.ParseInt(strings.Trim(strings.Split(want[len(want)/2], " ")[4], `"`), 10, 64)
	testcheck.Must(t, err)
	late.Since, early.Until = loaded+1, loaded+1
	many := some
	many.Versions = 3
	for _, c := range []choice.Choice{{}, some, late, early, many} {
		is := scanDigest(t, scan.Scanned, tablesource.RowView{Choice: c})
		if want := snapshotDigest(t, files.Snapshot, snapshot.View{Versions: max(1, c.Versions), Choice: c}); is != want {
			t.Errorf("of %+v the scan gives %s, the snapshot %s", c, is, want)
		}
		t.Logf("%+v: %s", c, is)
	}

	// A scan ends when it is no longer read, and when its context ends.
	sc := scan.Scanned.Scan(t.Context(), 0, tablesource.RowView{Families: []string{"g", "f"}})
	if !sc.Next() || !sc.NewRow() {
		t.Errorf("the first cell: %v", sc.Err())
	}
	testcheck.Must(t, sc.Close())
	ctx, cancel := context.WithCancel(t.Context())
	sc = scan.Scanned.Scan(ctx, 0, tablesource.RowView{})
	cancel()
	for sc.Next() {
	}
	if !errors.Is(sc.Err(), context.Canceled) {
		t.Errorf("a scan that was stopped: %v", sc.Err())
	}
	testcheck.Must(t, sc.Close())

	// An emptied table differs from the one at the beginning of the reading.
	ask("truncate", name)
	if _, err := readAll(t, in); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "emptied or made again") {
		t.Errorf("of a table that was emptied: %v", err)
	}
}

// scanDigest returns the digest of the cells of all parts.
func scanDigest(t *testing.T, s *tablesource.Scanned, v tablesource.RowView) string {
	t.Helper()
	d := cellDigest{sha: sha256.New()}
	rows, cells := 0, 0
	testcheck.Must(t, s.Each(t.Context(), 1, v, func(_ context.Context, _ int, sc *tablesource.Scan) error {
		for sc.Next() {
			if sc.NewRow() {
				rows++
			}
			cells++
			d.add(sc.Cell())
		}
		return nil
	}))
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", rows, cells, d.sha.Sum(nil))
}

func readAll(t *testing.T, in *source.Input) (rows int, err error) {
	r := in.NewReader()
	for i := range in.Splits() {
		if err = r.Read(t.Context(), i, func(b *source.Batch) error { rows += b.Rows; return nil }); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("record %d is %s, want %s", i, got[i], want[i])
		}
	}
	return "one has more records"
}

// TestFilesDenied makes HDFS deny HBase's directory, as on secured clusters: reading files is refused by name, and auto scans instead.
func TestFilesDenied(t *testing.T) {
	t.Parallel()
	c := testcluster.Own(t, testcluster.Options{})
	env, ask := jobtest.ClusterEnv(t, c), asker(t, c)
	name := jobtest.FreshTable(t, env, 3, nil)
	ask("put", name, "0a", "f:q", "one")
	ask("put", name, "2b", "f:q", "two")
	table, err := loader.ParseTableName(name)
	testcheck.Must(t, err)
	ref := tablesource.Ref{Table: table}

	owner := jobtest.ClusterEnvAs(t, c, "hbase")
	fsys, root, err := owner.Resolve(owner.Conf.Value("hbase.rootdir"))
	testcheck.Must(t, err)
	for _, dir := range []string{"/data", "/archive"} {
		before, err := fsys.Stat(t.Context(), root+dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		testcheck.Must(t, err)
		testcheck.Must(t, fsys.Chmod(t.Context(), root+dir, 0o700))
		t.Cleanup(func() {
			testcheck.Must(t, fsys.Chmod(context.WithoutCancel(t.Context()), root+dir, before.Mode().Perm()))
		})
	}
	snapshots := func() (names []string) {
		infos, err := fsys.ReadDir(t.Context(), root+"/.hbase-snapshot")
		if !errors.Is(err, fs.ErrNotExist) {
			testcheck.Must(t, err)
		}
		for _, i := range infos {
			if strings.Contains(i.Name(), table.Qualifier) {
				names = append(names, i.Name())
			}
		}
		return names
	}

	for _, by := range []tablesource.ReadBy{"", tablesource.ByFiles} {
		_, err = tablesource.Open(t.Context(), env, ref, tablesource.Options{By: by})
		if fail.KindOf(err) != fail.Check || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "user tina may not read HBase's directory") || !strings.Contains(err.Error(), "give `read_by` scan") {
			t.Errorf("by %q: %v", by, err)
		}
	}
	for _, keep := range []bool{false, true} { // as in a job with a journal
		src, err := tablesource.Open(t.Context(), env, ref, tablesource.Options{By: tablesource.ByAuto, Keep: keep})
		testcheck.Must(t, err)
		if src.Scanned == nil || !errors.Is(src.Denied, fs.ErrPermission) || src.Own {
			t.Fatalf("auto: %+v", src)
		}
		warned := ""
		src.Report(func(msg string, _ ...any) { warned = msg })
		if !strings.Contains(warned, "region servers scan it instead") {
			t.Errorf("warned of %q", warned)
		}
		lines, _ := texts(t, mounted(t, env, "hbase:"+name, src, "$row", "q"))
		if !slices.Equal(lines, []string{`"0a" "one"`, `"2b" "two"`}) {
			t.Errorf("%q", lines)
		}
		testcheck.Must(t, src.Close(t.Context()))
	}
	if left := snapshots(); len(left) > 0 {
		t.Errorf("snapshots are left: %q", left)
	}
	// A user with access reads the files.
	src, err := tablesource.Open(t.Context(), owner, ref, tablesource.Options{By: tablesource.ByAuto})
	testcheck.Must(t, err)
	if src.Snapshot == nil || src.Denied != nil {
		t.Errorf("auto for HBase's user: %+v", src)
	}
	testcheck.Must(t, src.Close(t.Context()))
	// Only a denial by HDFS leads to a scan.
	none := tablesource.Ref{Table: loader.TableName{Namespace: "test", Qualifier: "none"}}
	for _, by := range []tablesource.ReadBy{tablesource.ByFiles, tablesource.ByAuto, tablesource.ByScan} {
		if _, err := tablesource.Open(t.Context(), env, none, tablesource.Options{By: by}); err == nil || errors.Is(err, fs.ErrPermission) {
			t.Errorf("a table that is not there, by %s: %v", by, err)
		}
	}
	ask("disable", name)
	if _, err := tablesource.Open(t.Context(), env, ref, tablesource.Options{By: tablesource.ByScan}); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "is DISABLED") {
		t.Errorf("a disabled table: %v", err)
	}
}
