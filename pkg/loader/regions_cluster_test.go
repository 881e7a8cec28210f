package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// plainRewriter writes its own rows into the new files, whatever the file contains.
type plainRewriter struct {
	*bench
	t    testing.TB
	rows []string
}

func (p *plainRewriter) between(from, to []byte) []string {
	var rows []string
	for _, row := range p.rows {
		if row >= string(from) && (len(to) == 0 || row < string(to)) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (p *plainRewriter) Cut(_ context.Context, f HFile, at [][]byte) ([]HFile, error) {
	var parts []HFile
	bounds := slices.Concat([][]byte{f.First}, at, [][]byte{append(slices.Clone(f.Last), 0)})
	for i := range len(bounds) - 1 {
		if rows := p.between(bounds[i], bounds[i+1]); len(rows) > 0 {
			parts = append(parts, p.hfile(p.t, p.fs, p.dir, f.Family, rows))
		}
	}
	return parts, nil
}

func (p *plainRewriter) Merge(_ context.Context, files []HFile) (HFile, error) {
	var rows []string
	for _, f := range files {
		rows = append(rows, p.between(f.First, append(slices.Clone(f.Last), 0))...)
	}
	slices.Sort(rows)
	return p.hfile(p.t, p.fs, p.dir, files[0].Family, rows), nil
}

// TestFileOfTwentyRegionsIsCutOnce loads a file with rows of twenty regions, and checks that it is cut once.
// Scenario 5 of docs/reliability.md.
func TestFileOfTwentyRegionsIsCutOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var splits []string
	for i := range 19 {
		splits = append(splits, fmt.Sprintf("a%06d", 10*(i+1)))
	}
	table := b.table(t, splits...)
	rows := rowsOf("a", 200)
	f := b.hfile(t, b.fs, b.dir, "f", rows)
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: recorder(&events), Rewriter: &plainRewriter{b, t, rows}})
	testcheck.Must(t, err)
	if events[1] != "cut in 20" || slices.Contains(events[2:], "cut in 20") || report.Loaded != 20 || report.Cells != 600 {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkRows(t, table, rows, "f")
	b.checkOnce(t, table, "f", 20)
}

// TestTooManyFilesAreMerged checks that the files of a family are merged if they are too many for a region.
// Scenario 11 of docs/reliability.md.
func TestTooManyFilesAreMerged(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	var rows []string
	var files []HFile
	for i := range 5 {
		some := rowsOf(string(rune('a'+i)), 10)
		rows = append(rows, some...)
		files = append(files, b.hfile(t, b.fs, b.dir, "f", some))
	}
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, MaxFiles: 4, Events: recorder(&events), Rewriter: &plainRewriter{b, t, rows}})
	testcheck.Must(t, err)
	if events[1] != "merged 5" || report.Loaded != 1 || report.Cells != 150 {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkRows(t, table, rows, "f")
	b.checkOnce(t, table, "f", 1)
}

// TestRegionSplitBeforeSending splits a region within a file between plan and call, and checks that the file is cut and loaded.
// Scenario 14 of docs/reliability.md.
func TestRegionSplitBeforeSending(t *testing.T) {
	t.Parallel()
	for _, stage := range []Stage{StageToken, StageDirect} {
		t.Run(stage.String(), func(t *testing.T) {
			b := newBench(t, nil)
			table := b.table(t)
			rows := rowsOf("a", 10)
			f := b.hfile(t, b.fs, b.dir, "f", rows)
			b.open(t, f)
			var events []string
			on := recorder(&events)
			sending := on.OnSending
			on.OnSending = func(groups []Sending) error {
				if groups[0].Attempt == 1 {
					if _, err := testcluster.Shared(t).AdminT(t).Run(t.Context(), "split", table.String(), "a000004"); err != nil {
						return err
					}
				}
				return sending(groups)
			}
			w := &openRewriter{plainRewriter{b, t, rows}}
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Stage: stage, Events: on, Rewriter: w})
			testcheck.Must(t, err)
			t.Logf("%q", events)
			if !slices.Contains(events, "cut in 2") || report.Loaded != 2 || report.Cells != 30 {
				t.Errorf("events %q, report %+v", events, report)
			}
			b.checkRows(t, table, rows, "f")
			b.checkOnce(t, table, "f", 2)
		})
	}
}

// openRewriter writes files that HBase's user may write.
type openRewriter struct{ plainRewriter }

func (o *openRewriter) Cut(ctx context.Context, f HFile, at [][]byte) ([]HFile, error) {
	parts, err := o.plainRewriter.Cut(ctx, f, at)
	for _, part := range parts {
		o.open(o.t, part)
	}
	return parts, err
}

// TestRegionsMergedBeforeSending merges two regions between plan and call, and checks that their files are loaded into the new region.
// Scenario 15 of docs/reliability.md.
func TestRegionsMergedBeforeSending(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	var events []string
	on := recorder(&events)
	sending := on.OnSending
	on.OnSending = func(groups []Sending) error {
		if groups[0].Attempt == 1 {
			if _, err := testcluster.Shared(t).AdminT(t).Run(t.Context(), "merge", table.String(), "a", "x"); err != nil {
				return err
			}
		}
		return sending(groups)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, Events: on})
	testcheck.Must(t, err)
	t.Logf("%q", events)
	if report.Loaded != 2 || len(report.Regions) != 1 || len(report.Regions[0].Files) != 2 {
		t.Errorf("report %+v", report)
	}
	b.checkRows(t, table, append(rowsOf("a", 10), rowsOf("x", 10)...), "f")
}

// TestMergedRegionsHaveTooManyFiles merges two regions between plan and call, whose files together are too many for one region.
// Scenario 15 of docs/reliability.md.
func TestMergedRegionsHaveTooManyFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	rows := append(rowsOf("a", 10), rowsOf("x", 10)...)
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rows[:10]), b.hfile(t, b.fs, b.dir, "f", rows[10:])}
	var events []string
	on := recorder(&events)
	on.OnPrepared = func(string) error { return nil }
	sending := on.OnSending
	on.OnSending = func(groups []Sending) error {
		if groups[0].Attempt == 1 {
			if _, err := testcluster.Shared(t).AdminT(t).Run(t.Context(), "merge", table.String(), "a", "x"); err != nil {
				return err
			}
		}
		return sending(groups)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, MaxFiles: 1, Events: on, Rewriter: &plainRewriter{b, t, rows}})
	testcheck.Must(t, err)
	if !slices.Contains(events, "merged 2") || report.Loaded != 1 || report.Cells != 60 {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkDigest(t, table, rows, "f")
	b.checkOnce(t, table, "f", 1)
}

// TestServerKilledWhileLoading kills the region server when it gets a request, and checks that the files are loaded after its restart.
// Scenario 28 of docs/reliability.md.
func TestServerKilledWhileLoading(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Options{}) // tests of other packages use the shared cluster at the same time
	server := cluster.Daemon(testcluster.RegionServer)
	var killed bool
	w := &wire{}
	w.before = func() error {
		if killed {
			return nil
		}
		killed = true
		if err := server.Kill(context.Background()); err != nil {
			return err
		}
		w.swallow.Store(true) // the request is lost
		return nil
	}
	b := newBenchOn(t, cluster, func(c *Config) { c.Dialer, c.RootDir = w.dial, "/hbase" })
	table := b.table(t, "m")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	restarted := make(chan error, 1)
	var events []string
	on := recorder(&events)
	unknown := on.OnUnknown
	on.OnUnknown = func(e *UnknownOutcomeError) error {
		if err := unknown(e); err != nil {
			return err
		}
		go func() { restarted <- errors.Join(server.Restart(context.WithoutCancel(t.Context()))) }()
		return nil
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: on})
	testcheck.Must(t, <-restarted)
	testcheck.Must(t, err)
	t.Logf("%q", events)
	if report.Loaded != 2 || !slices.Contains(events, "fenced") {
		t.Errorf("report %+v", report)
	}
	b.checkRows(t, table, append(rowsOf("a", 10), rowsOf("x", 10)...), "f")
	b.checkOnce(t, table, "f", 2)
}

// TestFileTrackerTableIsLoadedDirectly checks that a table with the store-file tracker FILE is loaded directly by default, and refuses a load through
// a staging directory.
// Scenario 36 of docs/reliability.md.
func TestFileTrackerTableIsLoadedDirectly(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
	name := TableName{Namespace: "loader_test", Qualifier: "tracked" + fmt.Sprint(testTime)}
	testcheck.Must(t, b.CreateTable(t.Context(), TableSpec{Name: name, CreateNamespace: true, Families: testFamilies,
		Configuration: map[string]string{"hbase.store.file-tracker.impl": "FILE"}}))
	t.Cleanup(func() { testcheck.Must(t, b.DeleteTable(context.WithoutCancel(t.Context()), name)) })
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	_, err := b.Load(t.Context(), LoadRequest{Table: name, Files: []HFile{f}, FS: b.fs, Stage: StageToken})
	if e, ok := errors.AsType[*StateError](err); !ok || e.Table != name || e.State != Enabled {
		t.Errorf("through a staging directory: %v", err)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: name, Files: []HFile{f}, FS: b.fs})
	if err == nil || !strings.HasSuffix(err.Error(), "cannot be changed by hbase: chmod 0777") || report.Loaded != 0 {
		t.Errorf("a file that HBase cannot write was sent: %+v, %v", report, err)
	}
	b.open(t, f)
	var events []string
	report, err = b.Load(t.Context(), LoadRequest{Table: name, Files: []HFile{f}, FS: b.fs, Events: recorder(&events)})
	testcheck.Must(t, err)
	if !slices.Equal(events, []string{`send "" 1 files attempt 1`, `loaded ""`}) || report.Loaded != 1 || report.Token != "" {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkRows(t, name, rowsOf("a", 10), "f")
}

// trackedTable creates a table with the store-file tracker FILE.
func (b *bench) trackedTable(t testing.TB) TableName {
	return b.tableSpec(t, TableSpec{Families: testFamilies, Configuration: map[string]string{"hbase.store.file-tracker.impl": "FILE"}})
}

// TestLostAnswerOfDirectLoadIsAskedOfRegion loses the answer to a direct load, and checks that the region is asked whether it has the file.
// Scenario 36 of docs/reliability.md.
func TestLostAnswerOfDirectLoadIsAskedOfRegion(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.lose.Store(true)
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir = w.dial, "/hbase" })
	table := b.trackedTable(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	b.open(t, f)
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: recorder(&events)})
	testcheck.Must(t, err)
	if !slices.Equal(events, []string{`send "" 1 files attempt 1`, "unknown", "fencing", "loaded", `loaded ""`}) || w.sent.Load() != 1 {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestOrphanIsNotTakenForLoaded simulates a server that died after its rename and before the entry in the list of store files. The file is in the
// store and not visible, so it must not count as loaded. Once it is back at its source it is loaded.
// Scenario 36 of docs/reliability.md.
func TestOrphanIsNotTakenForLoaded(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.swallow.Store(true)
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir, c.SettleTimeout = w.dial, "/hbase", 20*time.Second })
	table := b.trackedTable(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	b.open(t, f)
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	super := b.fsAs(t, "hbase")
	orphan := fmt.Sprintf("/hbase/data/%s/%s/%s/f/0123456789abcdef0123456789abcdef_SeqId_7_", table.Namespace, table.Qualifier, regions[0].Encoded)
	var sent HFile
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: Events{
		OnSending: func(groups []Sending) error { sent = groups[0].Files[0]; return nil },
		OnFencing: func(HFile, string) error { return super.Rename(t.Context(), fsPath(f.Path), orphan) },
	}})
	t.Log(err)
	if _, ok := errors.AsType[*UnknownOutcomeError](err); !ok || !strings.Contains(err.Error(), orphan) || report.Loaded != 0 {
		t.Fatalf("%v, report %+v", err, report)
	}
	b.checkRows(t, table, nil)
	testcheck.Must(t, super.Rename(t.Context(), orphan, fsPath(f.Path)+".r1"))
	b.cfg.SettleTimeout = time.Minute // enough for a successful query
	report, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{sent}, Unknown: []HFile{sent}, FS: b.fs})
	testcheck.Must(t, err)
	if report.Loaded != 1 || report.Resolved != 0 {
		t.Errorf("report %+v", report)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
	b.checkOnce(t, table, "f", 2) // the file, and the directory of the list
}
