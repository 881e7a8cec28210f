package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"time"
)

// TestOneFileIsLoaded loads one file into a table of one region.
// Scenario 1 of docs/reliability.md.
func TestOneFileIsLoaded(t *testing.T) {
	t.Parallel()
	for _, stage := range []Stage{StageToken, StageDirect} {
		t.Run(stage.String(), func(t *testing.T) {
			b := newBench(t, nil)
			table := b.table(t)
			rows := rowsOf("a", 2000)
			f := b.hfile(t, b.fs, b.dir, "f", rows)
			b.open(t, f)
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Stage: stage})
			testcheck.Must(t, err)
			if report.Loaded != 1 || report.Cells != 6000 || report.Bytes != f.Size {
				t.Errorf("report %+v", report)
			}
			b.checkDigest(t, table, rows, "f")
			b.checkOnce(t, table, "f", 1)
			regions, err := b.Regions(t.Context(), table)
			testcheck.Must(t, err)
			files, err := b.StoreFiles(t.Context(), regions[0], "f")
			testcheck.Must(t, err)
			if len(files) != 1 || !strings.Contains(path.Base(files[0]), "_SeqId_") {
				t.Errorf("store files %q", files)
			}
			files, err = b.StoreFiles(t.Context(), regions[0], "g")
			if err != nil || len(files) != 0 {
				t.Errorf("store files of the other family: %q, %v", files, err)
			}
		})
	}
}

// TestFileIsCutAtOneBoundary cuts a file at the only boundary that it crosses.
// Scenario 4 of docs/reliability.md.
func TestFileIsCutAtOneBoundary(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "a000004")
	rows := rowsOf("a", 10)
	f := b.hfile(t, b.fs, b.dir, "f", rows)
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Rewriter: &plainRewriter{b, t, rows}})
	testcheck.Must(t, err)
	if report.Loaded != 2 || report.Cells != 30 {
		t.Errorf("report %+v", report)
	}
	b.checkDigest(t, table, rows, "f")
	b.checkOnce(t, table, "f", 2)
}

// TestOddFamilyNamesAreLoaded loads families whose names begin with an underscore or have bytes that are not ASCII.
// Scenario 6 of docs/reliability.md.
func TestOddFamilyNamesAreLoaded(t *testing.T) {
	t.Parallel()
	for _, family := range []string{"_cf", "ü%20 +", "f-1"} {
		t.Run(family, func(t *testing.T) {
			b := newBench(t, nil)
			table := b.tableSpec(t, TableSpec{Families: []Family{{Name: family}}})
			rows := rowsOf("a", 20)
			f := b.hfile(t, b.fs, b.dir, family, rows)
			_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
			testcheck.Must(t, err)
			b.checkDigest(t, table, rows, family)
		})
	}
}

// TestUnknownFamilyIsRefused checks that a load into an unknown family is refused before any preparation.
// Scenario 9 of docs/reliability.md.
func TestUnknownFamilyIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	err := refuseBefore(t, b, table, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 2)), b.hfile(t, b.fs, b.dir, "none", rowsOf("a", 2)))
	if e, ok := errors.AsType[*FamilyError](err); !ok || !slices.Equal(e.Unknown, []string{"none"}) {
		t.Error(err)
	}
}

// TestFileToBeCutIsRefusedWithoutRewriter checks that a load that would have to cut a file is refused before any preparation.
// Scenario 18 of docs/reliability.md.
func TestFileToBeCutIsRefusedWithoutRewriter(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "a000001")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", []string{"a"}), b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 2))}
	err := refuseBefore(t, b, table, files...)
	if e, ok := errors.AsType[*MisfitError](err); !ok || e.File.Path != files[1].Path {
		t.Error(err)
	}
	b.checkRows(t, table, nil)
}

// putMeta rewrites a region's row of hbase:meta with another end.
func (b *bench) putMeta(t testing.TB, table TableName, r Region, end []byte) {
	t.Helper()
	info, err := proto.Marshal(&pb.RegionInfo{RegionId: &r.ID, TableName: table.proto(), StartKey: r.Start, EndKey: end,
		Offline: proto.Bool(false), Split: proto.Bool(false), ReplicaId: proto.Int32(0)})
	testcheck.Must(t, err)
	ctx := context.WithoutCancel(t.Context())
	at, err := b.registry.Meta(ctx)
	testcheck.Must(t, err)
	l, err := b.rpc.Connect(ctx, at.Meta, hbaserpc.ClientService)
	testcheck.Must(t, err)
	req := &pb.MutateRequest{Region: metaRegion(at.Meta).specifier(), Mutation: &pb.MutationProto{
		Row: r.Name, MutateType: pb.MutationProto_PUT.Enum(), Durability: pb.MutationProto_USE_DEFAULT.Enum(),
		ColumnValue: []*pb.MutationProto_ColumnValue{{Family: []byte("info"), QualifierValue: []*pb.MutationProto_ColumnValue_QualifierValue{
			{Qualifier: []byte("regioninfo"), Value: append([]byte("PBUF"), info...)}}}},
	}}
	testcheck.Must(t, l.Invoke(ctx, "Mutate", req, &pb.MutateResponse{}))
}

// TestHoleAndOverlapInMetaAreRefused checks that a load is refused if the regions in hbase:meta have a hole or an overlap.
// Scenario 16 of docs/reliability.md.
func TestHoleAndOverlapInMetaAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "h", "p")
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	for end, word := range map[string]string{"k": "hole", "r": "overlap"} {
		b.putMeta(t, table, regions[1], []byte(end))
		err := refuseBefore(t, b, table, f)
		e, ok := errors.AsType[*HoleError](err)
		if !ok || string(e.End) != end || string(e.Start) != "p" || e.Table != table || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	b.putMeta(t, table, regions[1], regions[1].End)
	_, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
	testcheck.Must(t, err)
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestScansDuringLoadsSeeWholeRows scans while files of ten families are loaded, and checks that a row is visible with all families or not at all.
// Scenario 20 of docs/reliability.md.
func TestScansDuringLoadsSeeWholeRows(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var spec TableSpec
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("f%d", i))
		spec.Families = append(spec.Families, Family{Name: names[i]})
	}
	table := b.tableSpec(t, spec)
	var all []string
	ctx, stop := context.WithCancel(t.Context())
	var scans sync.WaitGroup
	seen := 0
	scans.Go(func() {
		for ctx.Err() == nil {
			err := b.Scan(t.Context(), ScanRequest{Table: table}, func(row Row) error {
				seen++
				return checkCells(row, names...)
			})
			if err != nil {
				t.Errorf("scan during the load: %v", err)
				return
			}
		}
	})
	for i := range 8 {
		rows := rowsOf(string(rune('a'+i)), 100)
		var files []HFile
		for _, name := range names {
			files = append(files, b.hfile(t, b.fs, b.dir, name, rows))
		}
		_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs})
		testcheck.Must(t, err)
		all = append(all, rows...)
	}
	stop()
	scans.Wait()
	if seen == 0 {
		t.Error("the scans saw nothing")
	}
	b.checkDigest(t, table, all, names...)
}

// TestLastLoadWinsAmongEqualTimestamps checks that the last of equal keys and timestamps is visible, and that a newer timestamp always is.
// Scenario 22 of docs/reliability.md.
func TestLastLoadWinsAmongEqualTimestamps(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	admin := b.cluster.AdminT(t)
	table := b.table(t)
	rows := rowsOf("a", 4)
	put := func(row string, value string, at int) {
		_, err := admin.Run(t.Context(), "put", table.String(), row, "f:a", value, fmt.Sprint(at))
		testcheck.Must(t, err)
	}
	put(rows[0], "same, earlier", testTime)
	put(rows[1], "newer", testTime+1)
	put(rows[2], "older", testTime-1)
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: b.fs})
	testcheck.Must(t, err)
	put(rows[3], "same, later", testTime)
	got, err := b.Rows(t.Context(), table, [][]byte{[]byte(rows[0]), []byte(rows[1]), []byte(rows[2]), []byte(rows[3])})
	testcheck.Must(t, err)
	loaded := func(row string) string { return string(testValue(row, testQualifiers[0])) }
	for i, want := range []string{loaded(rows[0]), "newer", loaded(rows[2]), "same, later"} {
		if value := string(got[i].Cells[0].Value); value != want {
			t.Errorf("row %s: %q, not %q", rows[i], value, want)
		}
	}
}

// TestFlushDuringLoadLosesNoRow loads while the table is written and flushed, and checks that all rows are there.
// Scenario 23 of docs/reliability.md.
func TestFlushDuringLoadLosesNoRow(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	admin := b.cluster.AdminT(t)
	table := b.table(t)
	rows := rowsOf("a", 50)
	done := make(chan error, 1)
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: b.fs, Events: Events{
		OnSending: func([]Sending) error {
			for i := range 3 {
				if _, err := admin.Run(t.Context(), "put", table.String(), rows[i], "f:a", "old", fmt.Sprint(testTime-1)); err != nil {
					return err
				}
			}
			go func() {
				_, err := admin.Run(context.WithoutCancel(t.Context()), "flush", table.String())
				done <- err
			}()
			return nil
		},
	}})
	testcheck.Must(t, <-done)
	testcheck.Must(t, err)
	b.checkDigest(t, table, rows, "f")
}

// TestDirectLoadNeedsRightsOfHBase loads files of another user than HBase's, with restricted rights. With a staging directory the caller's rights are
// enough; a direct load requires rights of HBase's user, and fails with that advice before anything is sent.
// Scenario 24 of docs/reliability.md.
func TestDirectLoadNeedsRightsOfHBase(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
	for _, c := range []struct {
		file, dir fs.FileMode
		direct    bool
		hint      string
	}{
		{0o600, 0o777, false, "chmod 0666"}, {0o644, 0o777, false, "chmod 0666"}, {0o666, 0o755, false, "chmod 0777"},
		{0o666, 0o700, false, "chmod 0777"}, {0o666, 0o777, true, ""}, {0o660, 0o770, true, ""},
	} {
		t.Run(fmt.Sprintf("%04o in %04o", c.file, c.dir), func(t *testing.T) {
			table := b.table(t, "m")
			files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 5)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 5))}
			for _, f := range files {
				testcheck.Must(t, b.fs.Chmod(t.Context(), fsPath(f.Path), c.file))
			}
			testcheck.Must(t, b.fs.Chmod(t.Context(), b.dir+"/f", c.dir))
			_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files[:1], FS: b.fs, Stage: StageDirect})
			if (err == nil) != c.direct || err != nil && !strings.Contains(err.Error(), c.hint) {
				t.Errorf("direct: %v", err)
			}
			rows := rowsOf("x", 5)
			if err == nil {
				rows = append(rows, rowsOf("a", 5)...)
			}
			_, err = b.Load(t.Context(), LoadRequest{Table: table, Files: files[1:], FS: b.fs, Stage: StageToken})
			testcheck.Must(t, err)
			b.checkDigest(t, table, rows, "f")
		})
	}
}

// TestLoadsAtOnceIntoTheSameRegions loads into the same regions concurrently, as two users, and with two clients of one of them.
// Scenario 25 of docs/reliability.md.
func TestLoadsAtOnceIntoTheSameRegions(t *testing.T) {
	t.Parallel()
	benches := []*bench{newBench(t, nil), newBench(t, nil), newBench(t, func(c *Config) { c.EffectiveUser = "other" })}
	b := benches[0]
	table := b.table(t, "m")
	other := b.fsAs(t, "other")
	var all []string
	var loads sync.WaitGroup
	for i, each := range benches {
		fsys, dir := each.fs, each.dir
		if i == 2 {
			fsys, dir = other, each.dir+"-other"
			t.Cleanup(func() { testcheck.Must(t, other.RemoveAll(context.WithoutCancel(t.Context()), dir)) })
		}
		var files []HFile
		for _, prefix := range []string{"a", "x"} {
			rows := rowsOf(fmt.Sprintf("%s%d", prefix, i), 200)
			all = append(all, rows...)
			files = append(files, each.hfile(t, fsys, dir, "f", rows))
		}
		loads.Go(func() {
			report, err := each.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: fsys})
			if err != nil || report.Loaded != 2 || !report.Cleaned {
				t.Errorf("load %d: %v, report %+v", i, err, report)
			}
		})
	}
	loads.Wait()
	b.checkDigest(t, table, all, "f")
	b.checkOnce(t, table, "f", 6)
}

// TestPrepareCleanup creates and deletes a staging directory, like the check before a job.
func TestPrepareCleanup(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	token, err := b.Prepare(t.Context(), table)
	testcheck.Must(t, err)
	super := b.fsAs(t, "hbase")
	_, err = super.Stat(t.Context(), fsPath(token))
	testcheck.Must(t, err)
	testcheck.Must(t, b.Cleanup(t.Context(), table, token))
	if _, err := super.Stat(t.Context(), fsPath(token)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", token, err)
	}
	data := b.root.URI() + "hbase/data"
	if err := b.Cleanup(t.Context(), table, data); fmt.Sprint(err) != fmt.Sprintf("%q is not a directory below HBase's staging directory", data) {
		t.Errorf("a directory that is not a staging directory was to be deleted: %v", err)
	}
}

// TestSnapshot takes a snapshot, checks that a second one with its name is refused, and undoes a load by restoring it.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, rows := b.loaded(t, 20)
	name := "loader_test_" + table.Qualifier
	testcheck.Must(t, b.SnapshotUnderWay(t.Context(), table, name)) // none yet
	testcheck.Must(t, b.Snapshot(t.Context(), table, name, testTime))
	testcheck.Must(t, b.SnapshotUnderWay(t.Context(), table, name)) // done
	if created, ok, err := b.SnapshotTime(t.Context(), table, name); err != nil || !ok || created != testTime {
		t.Errorf("it was made at %d, %t, %v", created, ok, err)
	}
	if _, ok, err := b.SnapshotTime(t.Context(), TableName{"loader_test", "none"}, name); err != nil || ok {
		t.Errorf("a snapshot of another table: %t, %v", ok, err)
	}
	if err := b.Snapshot(t.Context(), table, name, 0); !errors.Is(err, ErrSnapshotExists) {
		t.Errorf("the second: %v", err)
	}
	if err := b.Snapshot(t.Context(), TableName{"loader_test", "none"}, name+"x", 0); !errors.Is(err, ErrTableNotFound) {
		t.Errorf("a snapshot of a table that is not there: %v", err)
	}
	// A load is undone by restoring the snapshot from before it. (Row 33.)
	more := rowsOf("later", 30)
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", more)}, FS: b.fs})
	testcheck.Must(t, err)
	b.checkRows(t, table, append(slices.Clone(rows), more...), "f")
	_, err = b.cluster.AdminT(t).Run(t.Context(), "restore", table.String(), name)
	testcheck.Must(t, err)
	b.checkDigest(t, table, rows, "f")
}

// TestSpaceQuotaLoadsNothing loads into a table whose space quota is exhausted, and checks that the region server refuses, that nothing is loaded,
// and that the error says what to change.
// Scenario 30 of docs/reliability.md.
func TestSpaceQuotaLoadsNothing(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Guarded())
	b := newBenchOn(t, cluster, func(c *Config) { c.RootDir = "/hbase" })
	table := b.table(t)
	_, err := cluster.AdminT(t).Run(t.Context(), "quota", table.String(), "3000")
	testcheck.Must(t, err)
	var loaded []string
	var files int
	testcheck.Eventually(t, time.Minute, "a refusal for the quota", func() (bool, any) {
		rows := rowsOf(fmt.Sprintf("n%03d-", files), 200)
		f := b.hfile(t, b.fs, b.dir, "f", rows)
		var report *LoadReport
		if report, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs}); err == nil {
			loaded, files = append(loaded, rows...), files+1
			return false, fmt.Sprintf("%d files are loaded", files)
		}
		if report.Loaded != 0 || !report.Cleaned || report.Regions[0].Place != PlaceSource {
			t.Errorf("report %+v", report)
		}
		_, e := b.fs.Stat(t.Context(), fsPath(f.Path))
		testcheck.Must(t, e)
		return true, nil
	})
	t.Logf("after %d files: %v", files, err)
	if e, ok := errors.AsType[*RegionError](err); !ok || e.Attempts != 1 || !strings.Contains(err.Error(), "set_quota") {
		t.Errorf("%v", err)
	}
	b.checkDigest(t, table, loaded, "f")
	b.checkOnce(t, table, "f", files)
}
