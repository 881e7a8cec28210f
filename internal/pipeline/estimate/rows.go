package estimate

import (
	"fmt"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"

	"github.com/cespare/xxhash/v2"
)

// Rows counts the rows of a build whose input is not records but rows with all their cells. It belongs to one goroutine.
type Rows struct{ t *tally }

// NewRows returns an empty count for these regions.
func NewRows(r *partition.Ranges) *Rows { return &Rows{newTally(r.Len(), 0)} }

// Row holds the sizes of a row apart from its key.
type Row struct {
	Bytes int64  // of its cells in the sort
	Cells int    // number of cells
	Names int    // bytes of their families and qualifiers
	Query []byte // value of the query key
}

// Add counts a row of a region.
func (r *Rows) Add(region int, key []byte, row Row) {
	r.t.row(region, key, int64(len(key))+row.Bytes)
	r.t.packed.cells += float64(row.Cells)
	r.t.packed.names += float64(row.Names)
	r.t.hot.add(xxhash.Sum64(row.Query), row.Query, 1)
	r.t.seen++
}

// Take adds the counts of another, multiplied by factor, and empties it.
func (r *Rows) Take(o *Rows, factor float64) {
	r.t.merge(o.t, factor)
	o.t.reset(nil)
}

// Mean returns the average number of bytes of a row, 0 if there are no rows.
func (r *Rows) Mean() float64 { return r.t.bytes / max(r.t.rows, 1) }

// Bytes returns the number of bytes of keys and cells of all rows.
func (r *Rows) Bytes() float64 { return r.t.bytes }

// A RowBuild holds the properties of a build of packed rows other than their count.
type RowBuild struct {
	Plan       *cells.Plan
	MaxRegion  int64  // at which a region of its table splits, 0 if the table has no setting
	Query      string // column of the query key
	Files      int    // existing files
	Places     int    // places that are read
	Whole      bool   // the places cover everything
	InputBytes int64
	Bad        int64 // rows without a key

	SampledRows int64   // rows that were built
	HFileBytes  int64   // of the sampled rows, without the overhead of files
	Duplicates  int64   // sampled rows with the key of another; rows with the same key are sampled together
	Part        float64 // the sampled rows' share of the bytes of all rows

	ReadTime, WriteTime time.Duration    // of all rows
	Sort                extsort.Options  // of all rows
	Forecast            extsort.Forecast // of their sort
	SortedBytes         int64
	Packed              float64 // bytes on disk for a byte of the sort
	WorkerMemory        int64   // of each worker, besides the sort
}

// Estimate returns the estimate of the build.
func (r *Rows) Estimate(env *cluster.Env, b RowBuild, w Options) *Estimate {
	o := BuildOptions{Options: build.Options{Workers: b.Sort.Workers, Memory: w.Memory}, Suggest: w.Suggest, Skew: w.Skew, spillLimit: w.SpillLimit, query: []string{b.Query}}
	o.MaxRegion, o.maxRegionFrom = w.maxRegion(env, b.MaxRegion)
	o = o.withDefaults()
	t := r.t
	t.bad, t.places, t.whole = b.Bad, b.Places, b.Whole
	e := newEstimate(b.Plan, o)
	e.Files, e.InputBytes, e.SampledRows, e.Places = b.Files, b.InputBytes, b.SampledRows, b.Places
	e.store(b.Plan, t)
	if t.rows == 0 {
		return e
	}
	e.Cells = int64(t.packed.cells)
	e.divide(b.Plan, t, float64(b.HFileBytes)/b.Part)
	f := b.Forecast
	e.Spills, e.Runs, e.SpillBytes, e.SpillMost = f.Spills, f.Runs, int64(b.Packed*float64(f.Written)), int64(b.Packed*float64(f.Most))
	if e.Spills {
		e.MoreMemory = b.SortedBytes + e.Rows*extsort.IndexSize - b.Sort.Memory
	}
	e.Memory += f.Memory + int64(o.Workers)*b.WorkerMemory
	e.ReadTime, e.WriteTime = b.ReadTime, b.WriteTime
	e.warn(b.Plan, t, o)
	e.warnDuplicates(b)
	return e
}

// warnDuplicates warns of rows with the same key, as far as the sample shows them.
func (e *Estimate) warnDuplicates(b RowBuild) {
	if b.Duplicates == 0 {
		return
	}
	rows := e.Rows
	about, all, of := "", b.Duplicates, fmt.Sprintf("of all %s", setting.Count(rows, "row"))
	switch {
	case !b.Whole:
		about, of = "at least ", fmt.Sprintf("in a sample of %s", setting.Count(b.SampledRows, "row"))
	case b.SampledRows < rows:
		about, all, of = "about ", int64(float64(b.Duplicates)*float64(rows)/float64(b.SampledRows)), fmt.Sprintf("in a sample of %s", setting.Count(b.SampledRows, "row"))
	}
	e.Warnings = append(e.Warnings, preflight.Doubtful("duplicate keys", setting.Textf("add columns to the key: the job fails, or keeps one row of each key with %s first or last", setting.Duplicates),
		"%s%s with the key of another row (%s); regions are shown with them", about, setting.Count(all, "row"), of))
}
