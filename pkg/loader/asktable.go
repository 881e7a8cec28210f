package loader

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"bulkload/pkg/hfile"
)

// A search of the table itself is the last resort for finding a file. A compaction writes the cells of a loaded file into another one and
// moves the file to the archive, from which HBase deletes it after minutes. The cells stay in the table with their timestamp.

// Reasons why the table gives no evidence.
var (
	errNoTimestamp  = errors.New("the table cannot be searched for its cells: they have no timestamp that only this load uses")
	errNotVacant    = errors.New("the table cannot be searched for its cells: before the load it had cells of this timestamp in these rows, or that is not known")
	errNoCells      = errors.New("the table has no cell of the load's timestamp in its first and its last row: it was not loaded, or they were deleted or have expired since")
	errNoCellsInOne = errors.New("the table has cells of the load's timestamp in only one of its first and its last row: others deleted them, or wrote them")
)

// inTable reports that a file was loaded if the table has cells of its family with the load's timestamp in its first and its last row. It
// reads all versions in the stores, so that neither newer versions nor delete markers hide them. Missing cells are not evidence: the error
// describes the cells found, or the reason why the search is impossible.
func (l *load) inTable(ctx context.Context, f HFile) (bool, error) {
	switch {
	case l.req.Timestamp == 0:
		return false, errNoTimestamp
	case l.req.Shared && !f.Vacant:
		return false, errNotVacant
	}
	first, last, err := l.ends(ctx, f)
	switch {
	case err != nil:
		return false, fmt.Errorf("the table could not be searched for its cells: %w", err)
	case first && last:
		return true, nil
	case first || last:
		return false, errNoCellsInOne
	}
	return false, errNoCells
}

// ends reports whether the first and the last row of a file have cells of its family with the load's timestamp in the table.
func (l *load) ends(ctx context.Context, f HFile) (first, last bool, err error) {
	if first, err = l.hasCells(ctx, f.Family, f.First); err != nil {
		return first, false, err
	}
	if string(f.First) == string(f.Last) {
		return first, first, nil
	}
	last, err = l.hasCells(ctx, f.Family, f.Last)
	return first, last, err
}

// cellsOf returns the request for all cells of a row with the load's timestamp.
func (l *load) cellsOf(family string, row []byte) ScanRequest {
	return ScanRequest{
		Table: l.req.Table, Families: []string{family}, Start: row, Stop: After(row), MaxRows: 1,
		MinTime: l.req.Timestamp, MaxTime: l.req.Timestamp + 1, Raw: true, KeysOnly: true, Versions: allVersions,
	}
}

func (l *load) hasCells(ctx context.Context, family string, row []byte) (found bool, err error) {
	err = l.cluster.Scan(ctx, l.cellsOf(family, row), func(r Row) error {
		for _, c := range r.Cells {
			found = found || c.Type == hfile.Put
		}
		return nil
	})
	return found, err
}

// lookBefore checks, before files are sent and where other loads may have used the timestamp, that the table has no cells of that timestamp
// in the files' first and last rows: only then do later cells prove that a file was loaded. A failure of this check does not stop the load.
func (l *load) lookBefore(ctx context.Context, groups []group) {
	if !l.req.Shared || l.req.Timestamp == 0 {
		return
	}
	limit := l.cluster.cfg.RetryTimeout // for all: no row is read while the table is out of reach
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not seen within %s", limit))
	defer cancel()
	var g errgroup.Group
	g.SetLimit(getsInFlight)
	for _, group := range groups {
		for i := range group.files {
			f := &group.files[i]
			g.Go(func() error {
				first, last, err := l.ends(ctx, *f)
				if f.Vacant = err == nil && !first && !last; err != nil {
					l.cluster.log.Debug("the table could not be searched for cells before the load", "file", f.Path, "error", err)
				}
				return nil
			})
		}
	}
	_ = g.Wait()
}
