package loader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"bulkload/pkg/hfile"
)

// Hidden describes the cells of a row that readers do not see, although the stores hold them.
type Hidden struct {
	Newer   int // cells of whose column readers see a newer version
	Deleted int // cells that delete markers hide
	// Undeleted is the row's cells without those that delete markers hide, nil if there are no hidden ones. It is valid as long as the row.
	Undeleted []Cell
}

// ScanStored is [Cluster.Scan] with the hidden cells of each row. With [ScanRequest.Raw] the rows have all cells of the stores, hidden or
// not; their delete markers are omitted. MaxTime must be set: newer cells hide older ones.
func (c *Cluster) ScanStored(ctx context.Context, req ScanRequest, fn func(Row, Hidden) error) error {
	newer := c.newer(ctx, req)
	defer newer.close()
	return c.Scan(ctx, req, func(row Row) error {
		above, err := newer.at(row.Key)
		if err != nil {
			return err
		}
		var h Hidden
		if row.Cells, h = hide(row.Cells, above); len(row.Cells) == 0 {
			return nil
		}
		return fn(row, h)
	})
}

// ScanStoredParallel is [Cluster.ScanParallel] with the hidden cells of each row.
func (c *Cluster) ScanStoredParallel(ctx context.Context, req ScanRequest, workers int, fn func(part int, row Row, h Hidden) error) error {
	return c.parallel(ctx, req, workers, func(ctx context.Context, i int, part ScanRequest) error {
		return c.ScanStored(ctx, part, func(row Row, h Hidden) error { return fn(i, row, h) })
	})
}

const (
	// newerVersions is the number of a column's cells, the newest first, that are examined to find the cell that a reader sees.
	newerVersions = 16
	newerChunk    = 1 << 20
)

// newerCells reads the cells newer than a scan's time range in parallel with it, row by row. The server skips store files without such
// cells, so that if there are none it costs one call per region.
type newerCells struct {
	open func(start []byte) iter.Seq2[Row, error]
	next func() (Row, error, bool)
	stop func()
	row  Row
	more bool
}

func (c *Cluster) newer(ctx context.Context, req ScanRequest) *newerCells {
	req.MinTime, req.MaxTime, req.MaxRows, req.OnRegion = req.MaxTime, 0, 0, nil
	req.Raw, req.KeysOnly, req.Versions, req.ChunkBytes = true, true, newerVersions, newerChunk
	return &newerCells{open: func(start []byte) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			part := req
			part.Start = start
			err := c.Scan(ctx, part, func(row Row) error {
				if !yield(row, nil) {
					return errLeft
				}
				return nil
			})
			if err != nil && err != errLeft {
				yield(Row{}, err)
			}
		}
	}}
}

// errLeft ends a scan whose rows are no longer needed.
var errLeft = errors.New("the rows are not needed any more")

// at returns the newer cells of a row. Rows must be requested in order.
func (n *newerCells) at(row []byte) (cells []Cell, err error) {
	if n.next == nil {
		n.next, n.stop = iter.Pull2(n.open(bytes.Clone(row)))
		if err := n.advance(); err != nil {
			return nil, err
		}
	}
	for n.more && bytes.Compare(n.row.Key, row) < 0 {
		if err := n.advance(); err != nil {
			return nil, err
		}
	}
	if n.more && bytes.Equal(n.row.Key, row) {
		return n.row.Cells, nil
	}
	return nil, nil
}

func (n *newerCells) advance() (err error) {
	n.row, err, n.more = n.next()
	return err
}

func (n *newerCells) close() {
	if n.stop != nil {
		n.stop()
	}
}

// hide removes the delete markers from a row's cells and returns what they and the newer cells hide. Both lists are in HBase's order.
func hide(cells, newer []Cell) ([]Cell, Hidden) {
	var h Hidden
	isMarker := func(c Cell) bool { return c.Type != hfile.Put }
	if len(newer) == 0 && !slices.ContainsFunc(cells, isMarker) {
		return cells, h
	}
	undeleted := []Cell{}
	for _, c := range cells {
		if isMarker(c) {
			continue
		}
		deleted := deletedBy(c, cells) || deletedBy(c, newer)
		if !deleted {
			undeleted = append(undeleted, c)
		}
		switch {
		case replacedBy(c, newer):
			h.Newer++
		case deleted:
			h.Deleted++
		}
	}
	cells = slices.DeleteFunc(cells, isMarker)
	if len(undeleted) < len(cells) {
		h.Undeleted = undeleted
	}
	return cells, h
}

// deletedBy reports whether a marker among the cells of the row hides a cell.
func deletedBy(c Cell, cells []Cell) bool {
	by := func(qualifier []byte, upTo, at hfile.Type) bool {
		return slices.ContainsFunc(column(cells, c.Family, qualifier), func(m Cell) bool {
			return m.Type == upTo && m.Timestamp >= c.Timestamp || m.Type == at && m.Timestamp == c.Timestamp
		})
	}
	return by(nil, hfile.DeleteFamily, hfile.DeleteFamilyVersion) || by(c.Qualifier, hfile.DeleteColumn, hfile.Delete)
}

// replacedBy reports whether a reader sees one of the newer cells instead of a cell.
func replacedBy(c Cell, newer []Cell) bool {
	return slices.ContainsFunc(column(newer, c.Family, c.Qualifier), func(n Cell) bool {
		return n.Type == hfile.Put && n.Timestamp > c.Timestamp && !deletedBy(n, newer)
	})
}

func column(cells []Cell, family, qualifier []byte) []Cell {
	at, _ := slices.BinarySearchFunc(cells, 0, func(c Cell, _ int) int {
		return cmp.Or(bytes.Compare(c.Family, family), bytes.Compare(c.Qualifier, qualifier))
	})
	end := at
	for end < len(cells) && bytes.Equal(cells[end].Family, family) && bytes.Equal(cells[end].Qualifier, qualifier) {
		end++
	}
	return cells[at:end]
}
