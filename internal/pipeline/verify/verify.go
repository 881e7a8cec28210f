package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/cespare/xxhash/v2"
)

const (
	// minScans and maxScans limit the number of regions that are read concurrently; between them it is two for each region server.
	minScans, maxScans = 4, 16
	// scanBytes is the number of bytes that the servers send at once for all of these scans together, a third of the memory that they take.
	scanBytes = (minScans * 4) << 20
)

// scansAtATime returns the number of regions of a table to read concurrently.
func scansAtATime(regions []loader.Region) int {
	servers := map[string]bool{}
	for _, r := range regions {
		servers[r.Server] = true
	}
	return min(max(2*len(servers), minScans), maxScans)
}

// Full scans the whole table for cells with the job's timestamp and compares
// rows, cells and digest with the written ones. Cells that newer cells or
// delete markers of others hide are included, and counted.
func Full(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, m *manifest.Manifest, e progress.Events) (*result.Verification, error) {
	v := &result.Verification{Mode: "full", Want: m.Digest}
	e.Total("verify", progress.Amount{Rows: m.Digest.Rows})
	var scanned atomic.Int64
	var parts sync.Map // of *storedRows, each one's own goroutine's
	from, to := m.Timestamp, m.Timestamp
	if m.Times != nil {
		from, to = m.Times.Min, m.Times.Max
	}
	// With several timestamps, it is unknown which deleted cells belonged to this job.
	workers := scansAtATime(facts.Regions)
	req := loader.ScanRequest{Table: facts.Name, MinTime: from, MaxTime: to + 1, Families: m.Families(), Raw: from == to, Versions: uint32(m.Versions), ChunkBytes: int64(scanBytes / workers)}
	err := c.ScanStoredParallel(ctx, req, workers, func(part int, row loader.Row, h loader.Hidden) error {
		held, ok := parts.Load(part)
		if !ok {
			held = newStoredRows(m)
			parts.Store(part, held)
		}
		r := held.(*storedRows)
		if scanned.Add(1)%encode.ReportEvery == 0 {
			e.Read(encode.ReportEvery)
		}
		return r.add(row, h)
	})
	e.Read(scanned.Load() % encode.ReportEvery)
	if err != nil {
		return nil, unread(facts, err)
	}
	sum := &storedRows{}
	for _, r := range parts.Range {
		sum.join(r.(*storedRows))
	}
	v.Got, v.Masked, err = sum.choose(v.Want)
	if m.Times != nil && manifest.Expired(m.Times.Expires) && v.Got.Rows <= v.Want.Rows && v.Got.Cells <= v.Want.Cells {
		v.Expired = true
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if v.Got != v.Want && m.Stamped {
		return v, fail.Errorf(fail.Verify, "table %s does not hold what was written: it has %s with timestamps %d to %d, want %s (older cells of these times also cause this: try %s sample)",
			facts.Name, v.Got, from, to, v.Want, setting.Verify)
	}
	if v.Got != v.Want {
		return v, fail.Errorf(fail.Verify, "table %s does not hold what was written: it has %s with timestamp %d, want %s (deletes, and keys loaded twice, also cause this)",
			facts.Name, v.Got, m.Timestamp, v.Want)
	}
	return v, nil
}

// unread returns the error of a verification that could not read the table.
// Such an error says nothing about the contents of the table, and the
// verification can be retried; only a failed comparison keeps its kind.
func unread(facts *cluster.Facts, err error) error {
	if k := fail.KindOf(err); k == fail.Verify || k == fail.Check {
		return fmt.Errorf("verify table %s: %w", facts.Name, err)
	}
	return fail.With(fail.Load, fmt.Errorf("verify table %s: it could not be read: %w", facts.Name, err))
}

// Rows computes the digest of rows that a job has written, wherever they are read: in the form that they had in the sort. It belongs to one goroutine.
type Rows struct {
	cells  []spec.CellName
	at     map[string]map[string]int // index of a qualifier, by family
	values [][]byte
	form   cells.RowForm
	digest manifest.Digest
	last   uint64 // hash of the last row
	wide   bool
	buf    []byte // form of a wide row
	stamp  []byte // of its cells, in rows that have their own
}

// NewRows returns an empty Rows for the rows of a manifest's job.
func NewRows(m *manifest.Manifest) *Rows {
	cells := m.CellNames()
	r := &Rows{cells: cells, at: map[string]map[string]int{}, values: make([][]byte, len(cells), len(cells)+1)}
	if r.wide = m.Wide; m.Stamped {
		r.values, r.stamp = append(r.values, nil), make([]byte, 8)
	}
	for i, c := range cells {
		if r.at[c.Family] == nil {
			r.at[c.Family] = map[string]int{}
		}
		r.at[c.Family][c.Qualifier] = i
	}
	return r
}

// none is the value of an empty cell, as opposed to the absence of one.
var none = []byte{}

// Digest returns the digest of the rows so far. The digests of parts of a table add up.
func (r *Rows) Digest() manifest.Digest { return r.digest }

// Add adds a row with all its cells of the job. It returns an error if the job
// cannot have written the row, which is then not added.
func (r *Rows) Add(row loader.Row) error {
	if r.wide {
		r.buf = encode.AppendWideKey(r.buf[:0], row.Key)
		for _, c := range row.Cells {
			r.buf = encode.AppendWideCell(r.buf, string(c.Family), c.Qualifier, c.Value, c.Timestamp, r.stamp != nil)
		}
		r.count(r.buf, row)
		return nil
	}
	clear(r.values)
	at := -1
	for i := range row.Cells {
		c := &row.Cells[i]
		var ok bool
		if at, ok = r.place(c, at+1); !ok {
			return fail.With(fail.Verify, fail.AboutData(row.Key, "a row, of %s, has a cell with a qualifier of %s, which was not loaded", setting.Count(len(row.Key), "byte"), setting.Count(len(c.Qualifier), "byte")))
		}
		if r.stamp != nil && c.Timestamp != row.Cells[0].Timestamp {
			return fail.With(fail.Verify, fail.AboutData(row.Key, "a row, of %s, has cells of the timestamps %d and %d: those of a loaded row have one", setting.Count(len(row.Key), "byte"), row.Cells[0].Timestamp, c.Timestamp))
		}
		if r.values[at] = c.Value; c.Value == nil {
			r.values[at] = none
		}
	}
	if r.stamp != nil && len(row.Cells) > 0 {
		binary.BigEndian.PutUint64(r.stamp, uint64(row.Cells[0].Timestamp))
		r.values[len(r.values)-1] = r.stamp
	}
	b := r.form.Append(row.Key, r.values)
	r.count(b, row)
	return nil
}

// count adds the form of a row to the digest.
func (r *Rows) count(form []byte, row loader.Row) {
	r.last = xxhash.Sum64(form)
	r.digest.Add(manifest.Digest{Rows: 1, Cells: int64(len(row.Cells)), Sum: r.last})
}

// place returns the index of a cell's value within its row. Cells are in the order of their names, so it is usually next,
// or soon after it.
func (r *Rows) place(c *loader.Cell, next int) (at int, ok bool) {
	const ahead = 4
	for i := next; i < len(r.cells) && i < next+ahead; i++ {
		if n := &r.cells[i]; string(c.Qualifier) == n.Qualifier && string(c.Family) == n.Family {
			return i, true
		}
	}
	at, ok = r.at[string(c.Family)][string(c.Qualifier)]
	return at, ok
}

// Table runs the verification of the given mode. s is used by mode files.
func Table(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, mode string, m *manifest.Manifest, s *Stores, e progress.Events, r *result.Result) (err error) {
	start := time.Now()
	defer func() { r.VerifyTime = time.Since(start) }()
	switch mode {
	case "full":
		e.Phase("verify")
		r.Verify, err = Full(ctx, c, facts, m, e)
	case "sample":
		e.Phase("verify")
		e.Total("verify", progress.Amount{Rows: int64(len(m.Samples))})
		if r.Verify, err = Sample(ctx, c, facts, m); err == nil {
			e.Read(int64(r.Verify.Sampled))
		}
	case "files":
		e.Phase("verify")
		e.Total("verify", progress.Amount{Rows: int64(len(m.Samples))})
		if r.Verify, err = Files(ctx, c, facts, m, s); err == nil {
			e.Read(int64(r.Verify.Sampled))
		}
		if f := r.Verify.Files; err == nil && f.Compacted > 0 {
			e.Warn("files were compacted before they were looked for: of their rows only the sampled ones were compared", "files", f.Compacted, "of", f.Files)
		}
	default:
		r.Verify = &result.Verification{Mode: "off", Want: m.Digest}
	}
	if err == nil && r.Verify.Expired {
		e.Warn("cells expired (TTL) before the table was read: verification inconclusive", "mode", mode, "sampled", r.Verify.Sampled)
	}
	if err != nil {
		return err
	}
	if n := cmp.Or(int64(r.Verify.Sampled), r.Verify.Got.Rows); n > 0 && r.Verify.Masked.Gone == n {
		return fail.Errorf(fail.Verify, "table %s: delete markers hide every row of the load that was read, %d: was it undone? Build it again, with another timestamp", facts.Name, n)
	}
	r.Verify.Masked.Warn(e, mode)
	return nil
}

// storedRows holds the digest of rows as stored, and their digest without
// deleted cells. Deleted cells may be the job's, deleted since, or an earlier
// job's with the same timestamp, deleted before: the digest that equals the
// written one decides.
type storedRows struct {
	all, undeleted       manifest.Digest
	wrong, wrongLeft     error // the first row that cannot have been loaded
	masked, maskedByLeft result.Masked
	read                 *Rows
}

func newStoredRows(m *manifest.Manifest) *storedRows { return &storedRows{read: NewRows(m)} }

// add counts a row. It returns an error if the row cannot match with or without its deleted cells.
func (s *storedRows) add(row loader.Row, h loader.Hidden) error {
	s.masked.AddRow(h)
	one, err := s.digest(row)
	if err != nil && h.Undeleted == nil {
		return err
	}
	if s.all.Add(one); s.wrong == nil {
		s.wrong = err
	}
	if h.Undeleted == nil {
		s.undeleted.Add(one)
		s.maskedByLeft.AddRow(h)
		return nil
	}
	s.maskedByLeft.AddRow(loader.Hidden{Newer: h.Newer})
	if len(h.Undeleted) == 0 {
		return nil
	}
	row.Cells = h.Undeleted
	one, err = s.digest(row)
	if s.undeleted.Add(one); s.wrongLeft == nil {
		s.wrongLeft = err
	}
	return nil
}

// digest returns the digest of one row.
func (s *storedRows) digest(row loader.Row) (manifest.Digest, error) {
	s.read.digest = manifest.Digest{}
	err := s.read.Add(row)
	return s.read.digest, err
}

func (s *storedRows) join(o *storedRows) {
	s.all.Add(o.all)
	s.undeleted.Add(o.undeleted)
	s.masked.Add(o.masked)
	s.maskedByLeft.Add(o.maskedByLeft)
	if s.wrong == nil {
		s.wrong = o.wrong
	}
	if s.wrongLeft == nil {
		s.wrongLeft = o.wrongLeft
	}
}

// choose returns the digest that equals the written one, else the digest of all rows.
func (s *storedRows) choose(want manifest.Digest) (manifest.Digest, result.Masked, error) {
	if s.wrongLeft == nil && s.undeleted == want && (s.all != want || s.wrong != nil) {
		return s.undeleted, s.maskedByLeft, nil
	}
	return s.all, s.masked, s.wrong
}
