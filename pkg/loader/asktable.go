package loader

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// The table itself is the last witness of a file. A compaction writes the cells of a loaded file into another one and puts
// the file into the archive, from which HBase deletes it after minutes. The cells stay in the table with their timestamp.

// Why the table cannot say.
var (
	errNoTimestamp  = errors.New("the table cannot be searched for its cells: they have no timestamp that only this load uses")
	errNotVacant    = errors.New("the table cannot be searched for its cells: before the load it had cells of this timestamp in these rows, or that is not known")
	errNoCells      = errors.New("the table has no cell of the load's timestamp in its first and its last row: it was not loaded, or they were deleted or have expired since")
	errNoCellsInOne = errors.New("the table has cells of the load's timestamp in only one of its first and its last row: others deleted them, or wrote them")
)

// inTable says that a file was loaded, by cells of its family with the load's timestamp in its first and in its last row.
// They are looked for among all that the stores hold, so that neither newer versions nor delete markers hide them. That
// they are missing is not evidence: the error says what was seen then, or why the table could not say.
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

func (l *load) hasCells(ctx context.Context, family string, row []byte) (found bool, err error) {
	req := ScanRequest{
		Table: l.req.Table, Families: []string{family}, Start: row, Stop: append(row[:len(row):len(row)], 0), MaxRows: 1,
		MinTime: l.req.Timestamp, MaxTime: l.req.Timestamp + 1, Raw: true, KeysOnly: true, Versions: allVersions,
	}
	err = l.c.Scan(ctx, req, func(r Row) error {
		for _, c := range r.Cells {
			found = found || c.Type == CellPut
		}
		return nil
	})
	return found, err
}

// lookBefore sees before files are sent, where other loads may have used the timestamp, that the table has none of its cells
// in their first and last rows: only then do such cells say later that a file was loaded. That it could not be seen keeps
// nothing from being loaded.
func (l *load) lookBefore(ctx context.Context, groups []group) {
	if !l.req.Shared || l.req.Timestamp == 0 {
		return
	}
	limit := l.c.cfg.RetryTimeout // of all: no row is read while the table is out of reach
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
					l.c.log.Debug("the table could not be searched for cells before the load", "file", f.Path, "error", err)
				}
				return nil
			})
		}
	}
	_ = g.Wait()
}
