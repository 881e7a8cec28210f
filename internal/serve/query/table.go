package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Cluster is the cluster that a [Table] is read from: a *[loader.Cluster]. KnownRegions may return old regions. A
// scan that detects that causes them to be read again.
type Cluster interface {
	Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error
	KnownRegions(ctx context.Context, table loader.TableName) ([]loader.Region, error)
	// Regions reads the regions, which are the known ones from then on.
	Regions(ctx context.Context, table loader.TableName) ([]loader.Region, error)
	Describe(ctx context.Context, table loader.TableName) (*loader.Table, error)
}

// ErrMemory ends a read that may not hold more rows.
var ErrMemory = errors.New("no memory is left for more rows")

// Errors of a Table that changes during a read. The read has not returned a complete result.
var (
	// ErrRegionsChanged ends a steady read. The query may be repeated at once.
	ErrRegionsChanged = errors.New("the table's regions changed while it was read")
	// ErrSaltsChanged means that the table's split points imply another number of salts than before, or none: the table was
	// replaced, or its regions were merged.
	ErrSaltsChanged = errors.New("the number of salts that the table is split for has changed")
)

// Table is a table of a job, prepared for many queries. Safe for concurrent use.
type Table struct {
	cluster   Cluster
	job       spec.Job
	name      loader.TableName
	key       keygen.Expr
	reverters map[spec.CellName]celltype.Reverter
	batches   sync.Pool // of *rowBatch, for reads whose rows are borrowed

	mu    sync.Mutex
	seen  []loader.Region // regions for which the modulus below was determined
	salts int             // 0: not known yet
}

// NewTable reads nothing yet. The caller closes the cluster.
func NewTable(c Cluster, s spec.Job) (*Table, error) {
	name, err := cluster.TableName(s)
	if err != nil {
		return nil, err
	}
	return &Table{cluster: c, job: s, name: name, key: s.RowKey(), reverters: reverters(s)}, nil
}

// Name returns the table's name.
func (t *Table) Name() loader.TableName { return t.name }

// modulus returns the salt modulus. It is determined from the first list of regions. Later lists that imply another
// number, or none, are refused, because rows would not be found by it.
func (t *Table) modulus(regions []loader.Region) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.salts > 0 && sameRegions(t.seen, regions) {
		return t.salts, nil
	}
	splits := make([][]byte, 0, len(regions))
	for _, region := range regions[1:] {
		splits = append(splits, region.Start)
	}
	n, err := t.job.SaltModulus(splits)
	if err != nil && t.salts > 0 { // no error of the query
		return 0, fail.Errorf(fail.Check, "table %s: %w: it was %d, and its split points show none now; say which it is with %s", t.name, ErrSaltsChanged, t.salts, setting.SaltBuckets)
	}
	if err != nil {
		return 0, err
	}
	if t.salts > 0 && n != t.salts && keygen.NeedsRegions(t.key) {
		return 0, fail.Errorf(fail.Check, "table %s: %w: it was %d, and is %d by its split points now; say which it is with %s", t.name, ErrSaltsChanged, t.salts, n, setting.SaltBuckets)
	}
	t.salts = cmp.Or(t.salts, n)
	t.seen = regions
	return t.salts, nil
}

// Modulus returns the number of values of the salt, 1 for a key without a salt. It reads the regions if they are not
// known.
func (t *Table) Modulus(ctx context.Context) (int, error) {
	_, n, err := t.split(ctx)
	return n, err
}

// CurrentModulus is Modulus, but reads the regions again if the known ones imply another number than before: reads are refused then, so that none of
// them detects that these are old.
func (t *Table) CurrentModulus(ctx context.Context) (int, error) {
	n, err := t.Modulus(ctx)
	if !errors.Is(err, ErrSaltsChanged) {
		return n, err
	}
	regions, err := t.cluster.Regions(ctx, t.name)
	if err != nil {
		return 0, cluster.Failure(err)
	}
	return t.modulus(regions)
}

// split returns the table's regions, which are read if they are not known, and the salt modulus.
func (t *Table) split(ctx context.Context) ([]loader.Region, int, error) {
	regions, err := t.cluster.KnownRegions(ctx, t.name)
	if err != nil {
		return nil, 0, cluster.Failure(err)
	}
	n, err := t.modulus(regions)
	return regions, n, err
}

// Ranges returns [keyrange.Key.Ranged] of the table's key; without a key there are none.
func (t *Table) Ranges() (alike, ordered []string) {
	if t.key == nil {
		return nil, nil
	}
	return keyrange.Split(t.key).Ranged()
}

// sameRegions reports whether two lists have the same regions, independent of their servers.
func sameRegions(a, b []loader.Region) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(x, y loader.Region) bool { return string(x.Name) == string(y.Name) })
}

// Read is [Read] on the open cluster.
func (t *Table) Read(ctx context.Context, q Query, fn func(loader.Row) error) (*ReadStats, error) {
	return t.read(ctx, q, time.Now(), fn)
}

func (t *Table) read(ctx context.Context, q Query, start time.Time, fn func(loader.Row) error) (*ReadStats, error) {
	q = q.withDefaults()
	if err := q.Validate(); err != nil {
		return nil, err
	}
	regions, err := t.cluster.KnownRegions(ctx, t.name)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	r, err := t.newReading(q, regions)
	if err != nil {
		return nil, err
	}
	o := mergeOptions{limit: q.Limit, memory: int64(q.Memory), workers: q.Scans, more: q.More}
	if o.after, err = r.page(q.Page); err != nil {
		return nil, err
	}
	if q.Borrowed {
		o.lent = &t.batches
	}
	if r.filter != nil {
		o.keep, o.cells = r.filter.row, columnsOf(r.filter.cells)
	}
	var reads regionReads
	if q.Explain {
		r.req.OnRegion = reads.add
	}
	st := &ReadStats{Heads: len(r.keys.Heads), KeyOrder: r.byKey, Dial: time.Since(start)}
	began := time.Now()
	m := newMerge(t.cluster, r.req, r.keys, o)
	err = m.run(ctx, func(row loader.Row) error {
		if len(r.drop) > 0 {
			row.Cells = slices.DeleteFunc(row.Cells, r.dropped)
		}
		if !q.Stored {
			revert(t.reverters, row)
		}
		return fn(row)
	})
	st.Rows, st.Scan = int(m.given), time.Since(began)
	if m.given > 0 && (m.more || err != nil) {
		st.Next = m.end.token(r.hash)
	}
	if q.Explain {
		st.Regions = reads.list(t.blockSize(ctx))
	}
	if q.Steady {
		if steady := t.unchanged(ctx, regions); steady != nil && (err == nil || ctx.Err() == nil) {
			return st, steady
		}
	}
	return st, cluster.Failure(err)
}

// unchanged returns an error if the regions have changed since a read began.
func (t *Table) unchanged(ctx context.Context, before []loader.Region) error {
	now, err := t.cluster.KnownRegions(ctx, t.name)
	if err != nil {
		return cluster.Failure(err)
	}
	if !sameRegions(before, now) {
		return fail.With(fail.Load, ErrRegionsChanged)
	}
	return nil
}

// blockSize returns the block size of the job's family, or 0 if it is not known.
func (t *Table) blockSize(ctx context.Context) int {
	d, err := t.cluster.Describe(ctx, t.name)
	if err != nil {
		return 0
	}
	f, _ := d.Family(t.job.Family)
	return f.BlockSize
}

// reverters returns the reverters of all cells that the job names; nil if the value is the text. Under no qualifier it has that of the family's other cells,
// if these have one type.
func reverters(s spec.Job) map[spec.CellName]celltype.Reverter {
	all := map[spec.CellName]celltype.Reverter{}
	for family, types := range s.OpenTypes() {
		if len(types) == 1 {
			all[spec.CellName{Family: family}] = types[0].Reverter()
		}
	}
	s.CellsOf(s.Columns, func(_ int, name spec.CellName, _ celltype.Converter) { all[name] = nil })
	for _, c := range s.Entries() {
		if c.QualifierFrom != "" {
			continue
		}
		names := c.ColumnNames()
		if c.Qualifier != "" {
			names = []string{c.Qualifier}
		}
		for _, q := range names {
			all[spec.CellName{Family: cmp.Or(c.Family, s.FamilyName()), Qualifier: q}] = c.CellType().Reverter()
		}
	}
	return all
}

// revert replaces the values of typed cells by their texts. A value that is invalid for its type, which another
// program may have written, stays unchanged.
func revert(all map[spec.CellName]celltype.Reverter, row loader.Row) {
	for i := range row.Cells {
		c := &row.Cells[i]
		r, ok := all[spec.CellName{Family: string(c.Family), Qualifier: string(c.Qualifier)}]
		if !ok {
			r = all[spec.CellName{Family: string(c.Family)}]
		}
		if r == nil {
			continue
		}
		if text, ok := r(c.Value); ok {
			c.Value = []byte(text)
		}
	}
}
