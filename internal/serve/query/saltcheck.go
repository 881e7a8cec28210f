package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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

// Limits of a check of salts: regions, and rows in each region. A row of more than checkedBytes is not read to its end, by probes neither.
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
// not have the columns as text, count as equal.
func (t *Table) CheckSalts(ctx context.Context) error {
	if t.key == nil || !keygen.NeedsRegions(t.key) {
		return nil
	}
	regions, n, err := t.split(ctx)
	if err != nil {
		return err
	}
	head := keyrange.Split(t.key).Head
	columns := keygen.Columns(keygen.Concat{Parts: head})
	cells, err := t.job.TextCells(columns)
	if err != nil {
		return nil // it cannot be computed
	}
	req := loader.ScanRequest{Table: t.name, Columns: columnsOf(cells), CacheBlocks: true, MaxRows: checkedRows, RowBytes: checkedBytes, ChunkBytes: checkedBytes, Prompt: true}
	var seen, other int
	step := max(1, len(regions)/checkedRegions)
	for i := 0; i < len(regions); i += step {
		req.Start, req.Stop = regions[i].Start, regions[i].End
		err := t.cluster.Scan(ctx, req, func(row loader.Row) error {
			values := map[string]string{}
			for at, name := range cells {
				for _, c := range row.Cells {
					if name.Qualifier == string(c.Qualifier) && name.Family == string(c.Family) {
						values[columns[at]] = string(c.Value)
					}
				}
			}
			if len(values) < len(columns) {
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
			return cluster.Failure(fmt.Errorf("read rows to check their salts: %w", err))
		}
	}
	if 4*other > seen {
		return fail.Errorf(fail.Check, "table %s: %w: %d of %s, by a modulus of %d; say by which they were written with %s", t.name, ErrSaltsUnfit, other, setting.Count(seen, "row"), n, setting.SaltBuckets)
	}
	return nil
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
