package build

import (
	"context"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/partition/extsort"
)

// ReadTotals are the totals of the packed rows that were read.
type ReadTotals struct {
	Records, Rejected int64
	RejectFile        string          // absolute; if there are rejected rows
	Sum               manifest.RowSum // of the rows that are not rejected
	Notes             string          // what decoders need for all rows; text
}

// A PackedSource reads rows and packs them.
type PackedSource interface {
	// Read adds all rows to the sort, except rows of regions that skip selects, which it only counts. It does not finish the sort.
	Read(ctx context.Context, sorter *extsort.Sorter, skip func(region int) bool) (ReadTotals, error)
	// Locate adds the positions of the records to an error about two rows with the same key.
	Locate(ctx context.Context, err error) error
	// Explain adds advice to an error of the sort.
	Explain(err error) error
}

// RunPacked writes an HFile for every region and family that has cells, as [RunTables] does. memory is the number of bytes
// for sorted rows. If resume is not nil, the build records finished work and continues from an earlier attempt.
func RunPacked(ctx context.Context, plan *cells.Plan, src PackedSource, memory int64, out Output, o Options, resume *Resume) (*manifest.Manifest, error) {
	o = o.WithDefaults()
	o.resume, o.AllowEmpty = resume, true
	m, err := run(ctx, []Table{{plan, out.withDefaults()}}, packedRows{src, o}, memory, o)
	if err != nil {
		return nil, err
	}
	return m[0], nil
}

// packedRows produces the rows of a packed source.
type packedRows struct {
	src     PackedSource
	options Options
}

func (r packedRows) read(ctx context.Context, sorter *extsort.Sorter) (t sortTotals, err error) {
	start := time.Now()
	r.options.Events.Phase("read")
	got, err := r.src.Read(ctx, sorter, r.options.resume.skip())
	counts := progress.Records{Read: got.Records, Rejected: got.Rejected}
	if r.options.Budget.None() {
		counts.Rejected = 0 // the one that ended the job is not set aside
	}
	r.options.Events.Records(counts)
	if err != nil {
		return t, err
	}
	r.options.Events.Phase("sort")
	if err := sorter.Finish(); err != nil {
		return t, err
	}
	stats := sorter.Stats()
	t = sortTotals{Records: got.Records, Rejected: got.Rejected, RejectFile: got.RejectFile, SpillBytes: stats.SpillBytes, SpillRuns: stats.Runs, Took: time.Since(start), RowSum: got.Sum, Notes: got.Notes}
	return t, r.options.resume.afterSort(sorter, t, nil)
}

func (r packedRows) locate(ctx context.Context, err error) error { return r.src.Locate(ctx, err) }
func (packedRows) duplicates(context.Context, *extsort.Sorter, []*manifest.Manifest) error {
	return nil
}
func (r packedRows) recheck(context.Context) error { return nil }
func (r packedRows) spilled(err error) error       { return err }
func (r packedRows) explain(err error) error       { return r.src.Explain(err) }

// locate adds the positions of the records to a merge's error about two rows with the same key.
func locate(ctx context.Context, p *cells.Plan, err error, places Places) error {
	if p.Packed != nil {
		return p.Packed.Locate(ctx, err)
	}
	return Locate(err, places)
}

// balancePacked checks that the written rows equal the rows that were read, if no duplicates were left out.
func (w *writers) balancePacked(m *manifest.Manifest, read manifest.RowSum) error {
	m.RowSum = w.sum.Sum()
	if m.Duplicates > 0 || w.sum == read {
		return nil
	}
	return fail.Errorf(fail.Unexpected, "%s were read, %s written; nothing was loaded (a fault of bulkload or of this machine: report it)", read, w.sum)
}
