package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// ErrSaltsUnfit means that the rows of a table have other salts than its job computes for them: get and serve would
// not find them.
var ErrSaltsUnfit = errors.New("rows of the table have other salts than the job computes")

// Limits of a check of salts: regions, salts and ranges between them, and rows in each. Checks and probes give up a row of more than checkedBytes.
const (
	checkedRegions = 12
	checkedRows    = 4
	checkedBytes   = 64 << 10
)

// Probe reads the beginning of the first row, which shows that the table can be read. The table may be empty.
func (t *Table) Probe(ctx context.Context) error {
	_, err := t.hasRows(ctx)
	return err
}

// hasRows reads the beginning of the first row, and reports whether there is one.
func (t *Table) hasRows(ctx context.Context) (found bool, err error) {
	req := loader.ScanRequest{Table: t.name, Families: t.job.Families(), MaxRows: 1, RowBytes: checkedBytes, ChunkBytes: checkedBytes, CacheBlocks: true, Prompt: true}
	err = t.cluster.Scan(ctx, req, func(loader.Row) error { found = true; return nil })
	if errors.Is(err, loader.ErrRowTooLarge) {
		return true, nil
	}
	return found, cluster.Failure(err)
}

// Salts is the result of a check of salts.
type Salts int

const (
	// SaltsOfNoRow means that the table has no row.
	SaltsOfNoRow Salts = iota
	// SaltsUnknown means that the table has rows, and no salt was compared: those of other rows may be, later.
	SaltsUnknown
	// SaltsFit means that the salts that were compared are right, or that the job has none that can be computed.
	SaltsFit
)

// CheckSalts reads a few rows and computes their salts from their columns, or from their keys if the table does not have the columns as text. With a
// wrong modulus at least half of the rows differ, so if a quarter differs the error is ErrSaltsUnfit. Salts that cannot be computed count as equal.
func (t *Table) CheckSalts(ctx context.Context) (Salts, error) {
	if t.key == nil || len(keyrange.Split(t.key).Head) == 0 {
		return SaltsFit, nil
	}
	regions, n, err := t.split(ctx)
	if err != nil {
		return 0, err
	}
	judge, err := t.newSaltJudge(n)
	if err != nil {
		return SaltsFit, nil // no salt can be computed
	}
	req := loader.ScanRequest{Table: t.name, CacheBlocks: true, RowBytes: checkedBytes, ChunkBytes: checkedBytes, Prompt: true}
	if req.Columns = columnsOf(judge.cells); judge.parser != nil {
		req.Columns, req.Families = nil, t.job.Families()
	}
	var seen, other int
	met := false
	for _, r := range t.samples(regions, n) {
		req.Start, req.Stop, req.MaxRows = r.Start, r.Stop, r.rows
		err := t.cluster.Scan(ctx, req, func(row loader.Row) error {
			met = true
			equal, known := judge.row(row)
			if known {
				seen++
			}
			if known && !equal {
				other++
			}
			return nil
		})
		if errors.Is(err, loader.ErrRowTooLarge) {
			met, err = true, nil
		}
		if err != nil {
			return 0, cluster.Failure(fmt.Errorf("read rows to check their salts: %w", err))
		}
	}
	if 4*other > seen && !keygen.NeedsRegions(t.key) {
		return 0, fail.Errorf(fail.Check, "table %s: %w: %d of %s; say by which key they were written with %s", t.name, ErrSaltsUnfit, other, setting.Count(seen, "row"), setting.Key)
	}
	if 4*other > seen {
		return 0, fail.Errorf(fail.Check, "table %s: %w: %d of %s, by a modulus of %d; say by which they were written with %s", t.name, ErrSaltsUnfit, other, setting.Count(seen, "row"), n, setting.SaltBuckets)
	}
	if seen > 0 {
		return SaltsFit, nil
	}
	if !met && len(req.Columns) > 0 { // rows without these columns are not in the scans
		if met, err = t.hasRows(ctx); err != nil {
			return 0, err
		}
	}
	if met {
		return SaltsUnknown, nil
	}
	return SaltsOfNoRow, nil
}

// saltJudge compares the salts of rows.
type saltJudge struct {
	head    []keygen.Expr
	lead    []byte // constant bytes that begin the key: rows without them are no keys of the job
	modulus int
	columns []string        // columns of the salts
	cells   []spec.CellName // their cells

	parser *keygen.KeyParser // instead of cells: takes the columns from keys
	values [][]byte
}

// newSaltJudge returns an error if the salts cannot be computed.
func (t *Table) newSaltJudge(modulus int) (*saltJudge, error) {
	j := &saltJudge{head: keyrange.Split(t.key).Head, modulus: modulus}
	if l, ok := j.head[0].(keygen.Literal); ok {
		j.lead = l.Bytes
	}
	j.columns = keygen.Columns(keygen.Concat{Parts: j.head})
	var err error
	if j.cells, err = t.job.TextCells(j.columns); err == nil {
		return j, nil
	}
	if j.parser, err = keygen.CompileParser(t.key, keygen.Options{Regions: modulus}); err == nil {
		j.values = make([][]byte, len(j.parser.Columns()))
	}
	return j, err
}

// row reports whether a row has the salt that the job computes, if that is known.
func (j *saltJudge) row(row loader.Row) (equal, known bool) {
	if !bytes.HasPrefix(row.Key, j.lead) {
		return false, false
	}
	if j.parser != nil {
		return !errors.Is(j.parser.Parse(row.Key, j.values), keygen.ErrForeignKey), true
	}
	values := map[string]string{}
	for at, name := range j.cells {
		for _, c := range row.Cells {
			if name.Qualifier == string(c.Qualifier) && name.Family == string(c.Family) {
				values[j.columns[at]] = string(c.Value)
			}
		}
	}
	want, err := keyrange.Bytes(j.head, j.modulus, values)
	if len(values) < len(j.columns) || err != nil {
		return false, false // no key of this job
	}
	return bytes.HasPrefix(row.Key, want), true
}

// saltSample is a range of rows of a check, and how many of them are read.
type saltSample struct {
	keyrange.Range
	rows int64
}

// samples returns the rows to check: of regions, of salts, since regions need not begin with them, and as many between the salts.
func (t *Table) samples(regions []loader.Region, modulus int) (list []saltSample) {
	for i := 0; i < len(regions); i += max(1, len(regions)/checkedRegions) {
		list = append(list, saltSample{keyrange.Range{Start: regions[i].Start, Stop: regions[i].End}, checkedRows})
	}
	all, err := keyrange.Split(t.key).Salts(modulus)
	if err != nil || all == nil {
		return list // there are too many
	}
	salts, between := all.Sample(checkedRegions)
	for _, r := range salts {
		if !slices.ContainsFunc(regions, func(x loader.Region) bool { return bytes.Equal(x.Start, r.Start) }) {
			list = append(list, saltSample{r, checkedRows})
		}
	}
	for _, r := range between {
		list = append(list, saltSample{r, max(checkedRows*int64(len(salts)/len(between)), checkedRows)})
	}
	return list
}

// readChecked is read with the checks of a command: of a range before, of a query key after it.
func (t *Table) readChecked(ctx context.Context, q Query, start time.Time, fn func(loader.Row) error) (*ReadStats, error) {
	if err := t.checkRange(ctx, q); err != nil {
		return nil, err
	}
	st, err := t.read(ctx, q, start, fn)
	return t.checkFound(ctx, q, st, err)
}

// checkFound refuses a table whose rows have other salts than the job computes if a query key has no row, or has rows under several salts: rows under
// other salts would be missing. It takes and returns the results of a read.
func (t *Table) checkFound(ctx context.Context, q Query, st *ReadStats, err error) (*ReadStats, error) {
	if err == nil && q.Values != nil && q.Page == "" && (st.Rows == 0 || st.Heads > 1) {
		_, err = t.CheckSalts(ctx)
	}
	return st, err
}

// checkRange refuses a range of original keys if the table has rows with other salts, which the scans would miss. It checks a few rows.
// Further pages of a range are bound to the number of salts of the first page.
func (t *Table) checkRange(ctx context.Context, q Query) error {
	if t.key == nil || q.Raw || q.Values != nil || q.Page != "" {
		return nil
	}
	regions, n, err := t.split(ctx)
	if err != nil {
		return err
	}
	if _, err := t.newReading(q.withDefaults(), regions); err != nil {
		return err // an error of the query, independent of the table
	}
	salts, err := keyrange.Split(t.key).Salts(n)
	if err != nil || salts == nil {
		return nil // the read returns the reason why there is no range
	}
	return salts.Check("table "+t.name.String(), func(r keyrange.Range, n int) (rows [][]byte, err error) {
		req := loader.ScanRequest{Table: t.name, Families: t.job.Families(), Start: r.Start, Stop: r.Stop, MaxRows: int64(n), Prompt: true, CacheBlocks: true}
		err = t.cluster.Scan(ctx, req, func(row loader.Row) error {
			rows = append(rows, bytes.Clone(row.Key))
			return nil
		})
		return rows, cluster.Failure(err)
	})
}
