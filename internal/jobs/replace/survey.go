package replace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
)

// readers is the number of regions that are read concurrently.
const readers = 4

// Options are the options of a comparison of a table with an export.
type Options struct {
	Timestamp int64     // of every cell of the export, milliseconds
	Now       time.Time // time for deciding which cells have expired; required, and the same for [Compare] and [Survey.Write]
	Lifetimes bool      // cells of the export may expire before those that they hide
	Events    progress.Events
}

// wholeFamilies returns for each family whether every older cell must be hidden, including
// those in columns that the export writes: readers of several versions would see
// them, and all readers after the export's cell has expired.
func (o Options) wholeFamilies(snap *snapshot.Snapshot) []bool {
	all := make([]bool, len(snap.Families))
	for i, f := range snap.Families {
		all[i] = o.Lifetimes || f.Versions > 1
	}
	return all
}

// seen is the number of versions that shows whether a row has older cells, in
// addition to one with the export's timestamp.
const seen = 2

// Survey counts the contents of a table that are not in an export.
type Survey struct {
	Rows    int64 `json:"rows"`          // of the table, with visible cells
	Deleted int64 `json:"deleted"`       // rows that are not in the export
	Changed int64 `json:"changed"`       // rows in the export without some of their columns
	Newer   int64 `json:"newer_cells"`   // visible cells newer than the export's timestamp
	Foreign int64 `json:"foreign_cells"` // visible cells of that timestamp in columns that the export does not write

	Newest  int64     `json:"-"` // greatest timestamp of the newer cells
	markers [][]int64 // number of markers for each region and family of the snapshot
}

// Compare reads a snapshot together with the export.
func Compare(ctx context.Context, snap *snapshot.Snapshot, e *Export, o Options) (*Survey, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	sum := &Survey{markers: make([][]int64, len(snap.Regions))}
	var mu sync.Mutex
	err := snap.Each(ctx, readers, snapshot.View{Versions: seen, Now: o.Now}, func(ctx context.Context, region int, sc *snapshot.Scan) error {
		part, err := compareRegion(ctx, snap, region, sc, e, o)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		sum.markers[region] = part.markers[0]
		sum.Rows += part.Rows
		sum.Deleted += part.Deleted
		sum.Changed += part.Changed
		sum.Newer += part.Newer
		sum.Newest = max(sum.Newest, part.Newest)
		sum.Foreign += part.Foreign
		return nil
	})
	return sum, err
}

// regionReading is the state of reading one row of a region.
type regionReading struct {
	survey *Survey
	cells  []*cellScan // of each family of the snapshot
	whole  []bool      // families where every older cell needs a marker
	marked []bool      // families of the row that get a marker
	lost   bool        // the row has a cell in a column that the export does not write
	any    bool        // a row has begun
	has    bool        // the export has the row
}

func compareRegion(ctx context.Context, snap *snapshot.Snapshot, region int, sc *snapshot.Scan, e *Export, o Options) (_ *Survey, err error) {
	r := &regionReading{survey: &Survey{markers: [][]int64{make([]int64, len(snap.Families))}}, marked: make([]bool, len(snap.Families)), whole: o.wholeFamilies(snap)}
	at := snap.Regions[region]
	for _, f := range snap.Families {
		c := e.cells(ctx, f.Name, at.Start, at.End)
		r.cells = append(r.cells, c)
		defer func() { err = errors.Join(err, c.close()) }()
		if err := c.next(); err != nil {
			return nil, err
		}
	}
	family := 0
	for sc.Next() {
		c := sc.Cell()
		if sc.NewRow() {
			r.endRow()
			if err := r.startRow(c.Row); err != nil {
				return nil, err
			}
		}
		for snap.Families[family].Name != string(c.Family) {
			family = (family + 1) % len(snap.Families)
		}
		written, err := r.cells[family].toColumn(c.Row, c.Qualifier)
		if err != nil {
			return nil, err
		}
		switch {
		case c.Timestamp > o.Timestamp:
			r.survey.Newer++
			r.survey.Newest = max(r.survey.Newest, c.Timestamp)
		case c.Timestamp == o.Timestamp:
			if !written {
				r.survey.Foreign++
			}
		case !written:
			r.marked[family], r.lost = true, true
		case r.whole[family]:
			r.marked[family] = true
		}
	}
	r.endRow()
	o.Events.Read(r.survey.Rows)
	return r.survey, sc.Err()
}

func (r *regionReading) startRow(row []byte) error {
	r.any, r.has, r.lost = true, false, false
	for _, c := range r.cells {
		has, err := c.toRow(row)
		if err != nil {
			return err
		}
		r.has = r.has || has
	}
	return nil
}

func (r *regionReading) endRow() {
	if !r.any {
		return
	}
	r.any = false
	s := r.survey
	s.Rows++
	for i := range r.marked {
		if r.marked[i] {
			s.markers[0][i]++
			r.marked[i] = false
		}
	}
	switch {
	case !r.has:
		s.Deleted++
	case r.lost:
		s.Changed++
	}
}

// A LimitError reports that more rows would be deleted than the limit allows.
type LimitError struct {
	Deleted, Rows int64
	Limit         spec.DeleteLimit
}

// Error names the counts.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%d of the table's %d rows are not in the export and would be deleted; the limit is %s", e.Deleted, e.Rows, e.Limit)
}

// Refuse returns why the table would not hold exactly the export, or would lose
// more rows than the limit allows: only a [*LimitError], or an error that names
// cells which markers do not hide. Nil: the table may be replaced.
func (s *Survey) Refuse(stamp int64, l spec.DeleteLimit) error {
	var errs []error
	if s.Newer > 0 {
		errs = append(errs, fmt.Errorf("%s newer than the job's timestamp %d and would stay visible", setting.Count(s.Newer, "visible cell is"), stamp))
	}
	if s.Foreign > 0 {
		errs = append(errs, fmt.Errorf("%s the job's timestamp %d without being in the export: take a later timestamp", setting.Count(s.Foreign, "visible cell has"), stamp))
	}
	if !l.Allows(s.Deleted, s.Rows) {
		errs = append(errs, &LimitError{s.Deleted, s.Rows, l})
	}
	return errors.Join(errs...)
}
