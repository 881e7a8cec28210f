package undo

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// openRestored opens the snapshot of the restored table, and takes it if it does not exist. It returns nil if HBase refuses it for good, as of a table
// with links that look like references: the table must not stay out of service for that.
func (r *restore) openRestored(ctx context.Context) (*tablesource.Source, error) {
	if r.scans {
		return nil, nil
	}
	src, err := job.OpenSnapshot(ctx, r.undo.env, r.undo.job, r.into, history.PlaceRestored)
	if err == nil || ctx.Err() != nil || !loader.Refused(err) || loader.Unavailable(err) {
		return src, err
	}
	r.scans = true
	e := r.undo.options.Events
	e.Warn("HBase takes no snapshot of the restored table: it is compared by a scan, once it is in service", "table", r.into.String(), "error", err)
	if errors.Is(err, loader.ErrSnapshotLinks) {
		e.Warn("major_compact the restored table soon: HBase cannot open a region with such links that is split or merged before", "table", r.into.String())
	}
	return nil, nil
}

// mergeKept matches the versions of HBase whose restore in place keeps a region that was merged since the snapshot in service together with its parts
// (RestoreSnapshotProcedure; seen on 2.4.18, not on 2.5.13).
var mergeKept = regexp.MustCompile(`^2\.[0-4]\.`)

// unmerged refuses a restore in place where HBase would keep merged regions, whose rows readers would see.
func (r *restore) unmerged(ctx context.Context, now *snapshot.Snapshot) error {
	if !r.inPlace() || !merged(r.before.Snapshot.Regions, now.Regions) {
		return nil
	}
	switch status, err := r.undo.cluster.Status(ctx); {
	case err != nil:
		return cluster.Failure(err)
	case mergeKept.MatchString(status.Version):
		return fail.With(fail.Check, setting.Errorf("regions of %s were merged since snapshot %s, and HBase %s would keep the merged ones too: name a new table with %s", r.table, r.from.Snapshot, status.Version, setting.Into))
	}
	return nil
}

// merged reports whether a table has regions that are neither in an earlier list of its regions nor a part of one there.
func merged(before, now []snapshot.Region) bool {
	return slices.ContainsFunc(now, func(x snapshot.Region) bool {
		return !slices.ContainsFunc(before, func(b snapshot.Region) bool {
			starts, ends := bytes.Compare(b.Start, x.Start), bytes.Compare(x.End, b.End)
			within := starts <= 0 && (len(b.End) == 0 || len(x.End) > 0 && ends <= 0)
			return b.Encoded == x.Encoded || within && (starts != 0 || ends != 0)
		})
	})
}

// openable refuses a restore after which HBase could not open the table: links to halves of files that look like references. now is a snapshot of
// the current table, whose files stay if it is restored in place.
func (r *restore) openable(now *snapshot.Snapshot) error {
	if !r.inPlace() {
		now = nil
	}
	if !r.table.LinksAsReferences() || !r.before.Snapshot.HalvesBeyond(now) {
		return nil
	}
	return fail.Errorf(fail.Check, "snapshot %s is not restored: it has halves of split files, and HBase cannot open links to them of a table named like %s", r.from.Snapshot, r.table)
}

// restored returns the digests of the restored table, by its snapshot, or by a scan if HBase takes none. A scan sees no older versions, and no cells that
// have expired since the prediction, which are removed from want.
func (r *restore) restored(ctx context.Context, want *result.Restore) (newest, kept manifest.Digest, err error) {
	src, err := r.openRestored(ctx)
	if err != nil {
		return newest, kept, err
	}
	if src != nil {
		newest, kept, err = r.digestOf(ctx, src.Snapshot, r.undo.read)
		return newest, kept, tablesource.FilesFailure(err)
	}
	if newest, err = r.scan(ctx); err != nil || newest == want.Before {
		return newest, want.Versions, err
	}
	if err := r.open(ctx); err != nil {
		return newest, kept, err
	}
	later := r.undo.read
	later.now = time.Now()
	if want.Before, want.Versions, err = r.digestOf(ctx, r.before.Snapshot, later); err != nil {
		return newest, kept, tablesource.FilesFailure(err)
	}
	newest, err = r.scan(ctx)
	return newest, want.Versions, err
}

// scan returns the digest of the cells that readers of the table see.
func (r *restore) scan(ctx context.Context) (sum manifest.Digest, err error) {
	regions, err := r.undo.cluster.Regions(ctx, r.into)
	if err != nil {
		return sum, cluster.Failure(err)
	}
	var mu sync.Mutex
	err = workers.Each(ctx, r.undo.read.workers, len(regions), func(ctx context.Context, i int) error {
		var part manifest.Digest
		var buf []byte
		err := r.undo.cluster.Scan(ctx, loader.ScanRequest{Table: r.into, Start: regions[i].Start, Stop: regions[i].End}, func(row loader.Row) error {
			part.Rows++
			for _, c := range row.Cells {
				var one uint64
				one, buf = cellSum(&hfile.Cell{Row: row.Key, Family: c.Family, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Value: c.Value}, buf)
				part.Cells++
				part.Sum += one
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		sum.Add(part)
		return err
	})
	return sum, cluster.Failure(err)
}
