package undo

import (
	"slices"
	"testing"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/verify"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// labStamp is the timestamp of the load of these tests.
const labStamp = 200

// lab is a table t with two regions on a file system in memory.
type lab struct {
	*testsnapshot.Table
	t testing.TB
}

func newLab(t testing.TB, versions int, families ...string) *lab {
	return &lab{t: t, Table: testsnapshot.New(t, testsnapshot.Options{Families: families, Versions: versions, Splits: []string{"c"},
		HFiles: hfile.Options{Encoding: hfile.EncodingFastDiff, BlockSize: 200}})}
}

// open takes a snapshot.
func (l *lab) open() *snapshot.Snapshot {
	l.t.Helper()
	l.Save()
	s, err := snapshot.Open(l.t.Context(), l.FS, l.Root, l.Snapshot)
	testcheck.Must(l.t, err)
	return s
}

// of returns the load that wrote these cells of the lab.
func (l *lab) of(written []hfile.Cell) *load {
	m := &manifest.Manifest{Schema: 1, Timestamp: labStamp, Family: l.Families[0]}
	for _, f := range l.Families {
		for _, q := range []string{"p", "q"} {
			m.Cells = append(m.Cells, spec.CellName{Family: f, Qualifier: q})
		}
	}
	rows := map[string][]loader.Cell{}
	sorted := slices.Clone(written)
	slices.SortFunc(sorted, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	for _, c := range sorted {
		rows[string(c.Row)] = append(rows[string(c.Row)], loader.Cell{Family: c.Family, Qualifier: c.Qualifier, Value: c.Value, Timestamp: c.Timestamp, Type: hfile.Put})
	}
	digest := verify.NewRows(m)
	for key, cells := range rows {
		testcheck.Must(l.t, digest.Add(loader.Row{Key: []byte(key), Cells: cells}))
	}
	m.Digest = digest.Digest()
	return &load{job: "t-0123456789ab", table: loader.TableName{Namespace: "default", Qualifier: "t"}, stamp: labStamp, families: l.Families, manifest: m}
}

// labReading returns options for reading with two goroutines, at the time of the
// lab.
func labReading() reading { return reading{workers: 2, now: time.UnixMilli(10_000)} }
