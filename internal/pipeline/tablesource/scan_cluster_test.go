package tablesource_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/jobs/job"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

const (
	// envRows is the number of check rows in the table of TestTableOfHBase, which needs minutes of a cluster and is skipped without
	// it. In the other suites RegionScans tests the same rules (internal/hbase/snapshot).
	envRows = "BULKLOAD_SOURCE_ROWS"
	// envCost is a number of rounds: the snapshot is read alternately with HBase's client, and the results are logged.
	envCost = "BULKLOAD_SOURCE_COST"
)

// TestTableOfHBase compares a snapshot with the scan of HBase's own client, cell by cell: with rows that are overwritten and
// deleted by each kind of marker, in two families with and without a TTL, several files per store, references of a region that
// was split, and cells that were in memory. The result is the same after the table was compacted and dropped.
func TestTableOfHBase(t *testing.T) {
	t.Parallel()
	if os.Getenv(envRows) == "" {
		t.Skipf("%s=20000 has it run, as make test-source does", envRows)
	}
	count, err := strconv.ParseInt(os.Getenv(envRows), 10, 64)
	testcheck.Must(t, err)
	c := testcluster.Shared(t)
	env, admin := jobtest.ClusterEnv(t, c), c.AdminT(t)
	ask := func(args ...string) string {
		t.Helper()
		began := time.Now()
		said, err := admin.Run(t.Context(), args...)
		testcheck.Must(t, err)
		t.Logf("%s: %.1f s", args[0], time.Since(began).Seconds())
		return said
	}
	name := livedTable(t, env, count, ask)
	if n := halves(ask("ls", "/hbase/data/"+strings.ReplaceAll(name, ":", "/"))); n < 4 {
		t.Errorf("a split left %d references", n)
	}
	table, err := loader.ParseTableName(name)
	testcheck.Must(t, err)
	src, err := tablesource.Open(t.Context(), env, tablesource.Ref{Table: table}, tablesource.Options{})
	testcheck.Must(t, err)
	defer func() { testcheck.Must(t, src.Close(context.WithoutCancel(t.Context()))) }()
	most := 0
	for i := range src.Snapshot.Regions {
		most = max(most, src.Snapshot.Regions[i].Files)
	}
	t.Logf("%d regions, up to %d files each", len(src.Snapshot.Regions), most)
	if most < 6 {
		t.Errorf("a region has %d files", most)
	}

	views := map[int]snapshot.View{1: {Versions: 1}, 0: {Raw: true}}
	if count < 100_000 {
		views[math.MaxInt32] = snapshot.View{}
	}
	got := map[int]string{}
	for versions, v := range views {
		got[versions] = snapshotDigest(t, src.Snapshot, v)
		if want := ask("cells-digest", name, strconv.Itoa(versions)); got[versions] != want {
			t.Errorf("%d versions: the snapshot gives %s, a Scan %s", versions, got[versions], want)
		}
		t.Logf("%d versions: %s", versions, got[versions])
	}
	if rounds, _ := strconv.Atoi(os.Getenv(envCost)); rounds > 0 {
		t.Run("cost", func(t *testing.T) {
			compareCost(t, src.Snapshot, rounds, func() string { return ask("cells-drain", name) })
		})
	}
	ask("cells-compact", name, "on")
	ask("major-compact", name)
	if now := snapshotDigest(t, src.Snapshot, views[1]); now != got[1] {
		t.Errorf("after a compaction: %s, not %s", now, got[1])
	}
	ask("drop", name)
	for versions, v := range views {
		if now := snapshotDigest(t, src.Snapshot, v); now != got[versions] {
			t.Errorf("of a dropped table, %d versions: %s, not %s", versions, now, got[versions])
		}
	}
}

// livedTable loads check rows and changes them with HBase's client.
func livedTable(t *testing.T, env *cluster.Env, count int64, ask func(...string) string) string {
	t.Helper()
	rows := data.Spec{Table: data.Check, Rows: count, Seed: 19, Regions: 4, Flat: true}
	input, err := data.WriteFile(t.Context(), t.TempDir(), rows, data.Dump)
	testcheck.Must(t, err)
	name := jobtest.FreshTable(t, env, 4, nil)
	ask("cells-second", name)
	s := jobtest.TableSpec(t, data.Check, input, "dump")
	s.Table, s.Key = name, "salt(check_id, 4) + md5hex(check_id) + id"
	_, err = job.Run(t.Context(), env, jobtest.Resolve(t, s), job.RunOptions{})
	testcheck.Must(t, err)
	ask("cells-churn", name)
	ask("split", name, "18")
	ask("put", name, "17", "f:last", "unflushed")
	return name
}

// halves counts references among files of a table.
func halves(listed string) (n int) {
	for line := range strings.Lines(listed) {
		base := line[strings.LastIndexByte(line, '/')+1:]
		if !strings.HasPrefix(base, ".") && strings.ContainsAny(base, ".=") {
			n++
		}
	}
	return n
}

// snapshotDigest returns the line that cells-digest prints for a scan.
func snapshotDigest(t *testing.T, s *snapshot.Snapshot, v snapshot.View) string {
	t.Helper()
	d := cellDigest{sha: sha256.New()}
	var rows, cells int64
	testcheck.Must(t, s.Each(t.Context(), 1, v, func(_ context.Context, _ int, sc *snapshot.Scan) error {
		for sc.Next() {
			d.add(sc.Cell())
		}
		rows, cells = rows+sc.Stats().Rows, cells+sc.Stats().Cells
		return nil
	}))
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", rows, cells, d.sha.Sum(nil))
}

type cellDigest struct {
	sha hash.Hash
	b   []byte
}

func (d *cellDigest) add(c *hfile.Cell) {
	b := d.b[:0]
	for _, piece := range [][]byte{c.Row, c.Family, c.Qualifier} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(piece))), piece...)
	}
	b = append(binary.BigEndian.AppendUint64(b, uint64(c.Timestamp)), byte(c.Type))
	d.b = append(binary.BigEndian.AppendUint32(b, uint32(len(c.Value))), c.Value...)
	d.sha.Write(d.b)
}

// compareCost reads the snapshot with all cores and the table with a Scan, alternately, after a first round that does not count.
func compareCost(t *testing.T, s *snapshot.Snapshot, rounds int, scan func() string) {
	var ours, theirs []float64
	for round := range rounds + 1 {
		began, cells := time.Now(), make([]int64, len(s.Regions))
		testcheck.Must(t, s.Each(t.Context(), runtime.GOMAXPROCS(0), snapshot.View{Versions: 1}, func(_ context.Context, i int, sc *snapshot.Scan) error {
			for sc.Next() {
			}
			cells[i] = sc.Stats().Cells
			return nil
		}))
		took := time.Since(began)
		var all int64
		for _, n := range cells {
			all += n
		}
		var scanned, ms int64
		said := scan()
		if _, err := fmt.Sscanf(said, "cells=%d ms=%d", &scanned, &ms); err != nil || scanned != all {
			t.Fatalf("a scan: %s, %v; the snapshot has %d cells", said, err, all)
		}
		t.Logf("round %d: %d cells in %.2f s, a scan in %.2f s", round, all, took.Seconds(), float64(ms)/1000)
		if round > 0 {
			ours, theirs = append(ours, took.Seconds()), append(theirs, float64(ms)/1000)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	a, b := ours[len(ours)/2], theirs[len(theirs)/2]
	t.Logf("medians of %d: the snapshot %.2f s, a scan %.2f s: %.1f times", rounds, a, b, b/a)
}
