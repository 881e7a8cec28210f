package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// ErrSaltsUnfit means that the rows of a table have other salts than its job computes for them: get and serve would
// not find them.
var ErrSaltsUnfit = errors.New("rows of the table have other salts than the job computes")

// Limits of a check of salts: regions, salts and ranges between them, and rows in each. A row of more than checkedBytes is not read to its end, by probes neither.
const (
	checkedRegions = 12
	checkedRows    = 4
	checkedBytes   = 64 << 10
)

// Probe reads the beginning of the first row, which shows that the table can be read. The table may be empty.
func (t *Table) Probe(ctx context.Context) error {
	req := loader.ScanRequest{Table: t.name, Families: t.job.Families(), MaxRows: 1, RowBytes: checkedBytes, ChunkBytes: checkedBytes, CacheBlocks: true, Prompt: true}
	err := t.cluster.Scan(ctx, req, func(loader.Row) error { return nil })
	if errors.Is(err, loader.ErrRowTooLarge) {
		return nil
	}
	return cluster.Failure(err)
}

// CheckSalts reads a few rows and computes their salts from their columns. With a wrong modulus at least half of the
// rows differ, so if a quarter differs the error is ErrSaltsUnfit. Salts that cannot be computed, because the table does
// not have the columns as text, count as equal. done is false if there was no row to compare yet.
func (t *Table) CheckSalts(ctx context.Context) (done bool, err error) {
	if t.key == nil {
		return true, nil
	}
	head := keyrange.Split(t.key).Head
	if len(head) == 0 {
		return true, nil
	}
	regions, n, err := t.split(ctx)
	if err != nil {
		return false, err
	}
	columns := keygen.Columns(keygen.Concat{Parts: head})
	cells, err := t.job.TextCells(columns)
	if err != nil {
		return true, nil // it cannot be computed
	}
	req := loader.ScanRequest{Table: t.name, Columns: columnsOf(cells), CacheBlocks: true, RowBytes: checkedBytes, ChunkBytes: checkedBytes, Prompt: true}
	var lead []byte // rows without it are no keys of this job
	if l, ok := head[0].(keygen.Literal); ok {
		lead = l.Bytes
	}
	var seen, other int
	for _, r := range t.samples(regions, n) {
		req.Start, req.Stop, req.MaxRows = r.Start, r.Stop, r.rows
		err := t.cluster.Scan(ctx, req, func(row loader.Row) error {
			values := map[string]string{}
			for at, name := range cells {
				for _, c := range row.Cells {
					if name.Qualifier == string(c.Qualifier) && name.Family == string(c.Family) {
						values[columns[at]] = string(c.Value)
					}
				}
			}
			if len(values) < len(columns) || !bytes.HasPrefix(row.Key, lead) {
				return nil
			}
			want, err := keyrange.Bytes(head, n, values)
			if err != nil {
				return nil // no key of this job
			}
			if seen++; !bytes.HasPrefix(row.Key, want) {
				other++
			}
			return nil
		})
		if err != nil && !errors.Is(err, loader.ErrRowTooLarge) {
			return false, cluster.Failure(fmt.Errorf("read rows to check their salts: %w", err))
		}
	}
	if 4*other > seen && !keygen.NeedsRegions(t.key) {
		return false, fail.Errorf(fail.Check, "table %s: %w: %d of %s; say by which key they were written with %s", t.name, ErrSaltsUnfit, other, setting.Count(seen, "row"), setting.Key)
	}
	if 4*other > seen {
		return false, fail.Errorf(fail.Check, "table %s: %w: %d of %s, by a modulus of %d; say by which they were written with %s", t.name, ErrSaltsUnfit, other, setting.Count(seen, "row"), n, setting.SaltBuckets)
	}
	return seen > 0, nil
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
