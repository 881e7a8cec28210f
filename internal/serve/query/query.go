package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Query selects the rows of a table to read. Give either Values, or Prefix, or From and To, or Raw with rows. Without
// any of them it selects the whole table.
type Query struct {
	// Values are the values of the spec's query columns: the rows of one query key.
	Values []string
	// From and To bound the original key, which follows the salt. They are values of its first columns. From is
	// inclusive, To is exclusive. Empty means no bound.
	From, To []string
	// Prefix has values of the original key's first columns; the last one may be the beginning of a value.
	Prefix []string
	// Raw takes StartRow and StopRow as bytes of row keys, including the salt; no key spec is needed. Empty means the
	// table's end.
	Raw               bool
	StartRow, StopRow []byte
	// Full reads the whole table and selects the rows in the range by the values of their cells. It is for keys that are
	// not in the order of From, To and Prefix. Rows are returned in the order of their keys.
	Full bool

	// Limit is the greatest number of rows. Default: all.
	Limit int64
	// Page is ReadStats.Next of the previous page: the rows after it are read. The rest of the query must be the same,
	// except Limit and Columns.
	Page string
	// Columns are the qualifiers to read, or family:qualifier. Default: all of the spec's family.
	Columns []string
	// Memory is the approximate number of bytes of rows that are held, including rows in transit from servers. Each salt
	// takes one row and 16 KiB at least, see More. Default 64 MiB.
	Memory spec.Size
	// Scans is the number of concurrent scans. Default 16.
	Scans int
	// Explain makes the servers count their reads, for ReadStats.Regions.
	Explain bool
	// Stored returns the stored values of typed cells. Default: their texts.
	Stored bool
	// Steady ends the read with ErrRegionsChanged if the table's regions change meanwhile, so that all rows are from the same
	// state of the table. A region that only moves does not count; a disabled table is an error at once. Default: a scan
	// continues in the new regions, and waits for a disabled table.
	Steady bool
	// RowBytes is the greatest size of a row, including keys; a larger row ends the read with loader.ErrRowTooLarge.
	// Default: no limit.
	RowBytes int64
	// More is called, from several goroutines, before rows beyond Memory are held, with the number of additional bytes. If it
	// returns false, the read ends with ErrMemory. The granted bytes are in use until the read ends. Default: rows are held
	// without limit.
	More func(bytes int64) bool
	// Borrowed lends rows to the reader's function until it returns. Their memory is reused for later rows, including rows of
	// other reads. Default: the function may keep the rows.
	Borrowed bool
	// ByValue refuses a range whose rows cannot be found by values, because the table does not have the key's columns as text. Default: the range is one
	// of keys, and ReadStats.KeyOrder is set.
	ByValue bool
	// Bound is additional data that page tokens are bound to, such as the digest of a job file. Default: nothing.
	Bound []byte
}

func (q Query) withDefaults() Query {
	q.Memory = cmp.Or(q.Memory, 64<<20)
	q.Scans = cmp.Or(q.Scans, 16)
	return q
}

// Validate returns an error for options that exclude each other.
func (q Query) Validate() error {
	kinds := 0
	for _, given := range []bool{q.Values != nil, len(q.From)+len(q.To) > 0, q.Prefix != nil, q.Raw} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return fail.Errorf(fail.Config, "a range is given by %s and %s, by %s, or by rows: only one of these at a time", setting.From, setting.To, setting.Prefix)
	case q.Full && (q.Values != nil || q.Raw):
		return fail.Errorf(fail.Config, "%s goes with %s, %s and %s only", setting.Full, setting.From, setting.To, setting.Prefix)
	case q.Limit < 0 || q.Memory < 0 || q.Scans < 0:
		return fail.Errorf(fail.Config, "limit %d, memory %d, scans %d: none may be below 0", q.Limit, q.Memory, q.Scans)
	case q.Raw && len(q.StopRow) > 0 && string(q.StartRow) >= string(q.StopRow):
		return fail.Errorf(fail.Config, "no row is in the range: %s is not before %s", rowkey.String(q.StartRow), rowkey.String(q.StopRow))
	}
	return nil
}

// ReadStats are the statistics of a read.
type ReadStats struct {
	Rows  int `json:"rows"`
	Heads int `json:"salts"` // number of salt values whose rows were merged; 1 without a salt
	// Next is the page token for the rows beyond the limit, also after an error. It is empty if no rows are left, or
	// none were read.
	Next    string        `json:"next_page,omitempty"`
	Dial    time.Duration `json:"-"` // time to find cluster, table and regions
	Scan    time.Duration `json:"-"` // time to read the rows, including the caller's function
	Regions []RegionRead  `json:"regions,omitempty"`
	// KeyOrder is set if the rows are those of a range of keys, which is not that of the values: the table does not have the key's columns as text.
	KeyOrder bool `json:"-"`
}

// reading is a query that is prepared for a table.
type reading struct {
	keys   keyrange.Rows
	filter *rowFilter
	req    loader.ScanRequest
	drop   []loader.Column // columns that are read for the filter only
	byKey  bool            // the range is one of keys, whose order is not that of the values
	hash   uint64
}

// Read reads the rows of a query in the order of the original key. If the table has a salt, it merges the rows of all
// salt values. Values of typed cells are returned as their texts. fn may keep the row. An error of fn ends the read
// and is returned. The stats are also returned with an error, once the read has begun.
func Read(ctx context.Context, env *cluster.Env, s spec.Job, q Query, fn func(loader.Row) error) (*ReadStats, error) {
	start := time.Now()
	if err := q.withDefaults().Validate(); err != nil {
		return nil, err
	}
	if _, err := cluster.TableName(s); err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	t, err := NewTable(c, s)
	if err != nil {
		return nil, err
	}
	return t.readChecked(ctx, q, start, fn)
}

// newReading determines the key ranges and the columns to read.
func (t *Table) newReading(q Query, regions []loader.Region) (*reading, error) {
	s, key := t.job, t.key
	r := &reading{req: loader.ScanRequest{Table: t.name, CacheBlocks: true, RowBytes: q.RowBytes, Prompt: true}}
	if q.Raw || key == nil {
		if !q.Raw && (q.Values != nil || q.Prefix != nil || len(q.From)+len(q.To) > 0) {
			return nil, fail.Errorf(fail.Config, "no key: name how row keys are made with %s, or key in the job file", setting.Key)
		}
		// the head is empty, and the bounds are those of whole row keys
		r.keys = keyrange.Rows{Heads: [][]byte{{}}, Lo: q.StartRow, Hi: q.StopRow}
		if len(q.StopRow) == 0 {
			r.keys.Hi = nil
		}
		r.hash = r.question(s, key, q, 0)
		return r, r.setColumns(s, q, nil)
	}
	n, err := t.modulus(regions)
	if err != nil {
		return nil, err
	}
	k := keyrange.Split(key)
	switch {
	case q.Values != nil:
		r.keys, r.filter, err = queryKey(s, k, n, q.Values)
	case q.Full:
		if r.filter, err = fullFilter(s, k, q); err == nil {
			r.keys, err = k.Between(n, nil, nil)
			r.req.Where, r.req.CacheBlocks = r.filter.where, false
		}
	case q.Prefix != nil:
		r.keys, err = k.Beginning(n, q.Prefix)
	default:
		err = r.between(s, k, n, q)
	}
	if err != nil {
		return nil, err
	}
	if !keygen.NeedsRegions(key) {
		n = 1 // rows and their order do not depend on it, and merges of regions change it
	}
	r.hash = r.question(s, key, q, n)
	var others []spec.CellName
	if r.filter != nil {
		others = r.filter.cells
	}
	// A row without any of the wanted columns would be missing. It has the key's columns, which are rarely empty.
	s.CellsOf(keygen.Columns(key), func(_ int, name spec.CellName, _ celltype.Converter) { others = append(others, name) })
	return r, r.setColumns(s, q, others)
}

// setColumns requests the wanted columns, and other columns that are dropped after filtering.
func (r *reading) setColumns(s spec.Job, q Query, others []spec.CellName) error {
	if len(q.Columns) == 0 {
		r.req.Families = s.Families()
		return nil
	}
	add := func(family, qualifier string) bool {
		c := loader.Column{Family: family, Qualifier: []byte(qualifier)}
		if slices.ContainsFunc(r.req.Columns, func(x loader.Column) bool {
			return x.Family == family && string(x.Qualifier) == qualifier
		}) {
			return false
		}
		r.req.Columns = append(r.req.Columns, c)
		return true
	}
	for _, c := range q.Columns {
		family, qualifier := SplitColumn(c, s.Family)
		if qualifier == "" {
			return fail.Errorf(fail.Config, "columns: %q names no column", c)
		}
		if !add(family, qualifier) {
			return fail.Errorf(fail.Config, "columns: %q is named twice", c)
		}
	}
	for _, c := range others {
		if add(c.Family, c.Qualifier) {
			r.drop = append(r.drop, r.req.Columns[len(r.req.Columns)-1])
		}
	}
	return nil
}

func (r *reading) dropped(c loader.Cell) bool {
	return slices.ContainsFunc(r.drop, func(x loader.Column) bool {
		return x.Family == string(c.Family) && string(x.Qualifier) == string(c.Qualifier)
	})
}

func columnsOf(cells []spec.CellName) []loader.Column {
	columns := make([]loader.Column, len(cells))
	for i, c := range cells {
		columns[i] = loader.Column{Family: c.Family, Qualifier: []byte(c.Qualifier)}
	}
	return columns
}

// SplitColumn parses family:qualifier; a name without a colon is a qualifier of the given family. A byte may be \xNN, as in the names that answers show.
func SplitColumn(name, family string) (string, string) {
	if f, q, ok := strings.Cut(name, ":"); ok {
		return columnBytes(f), columnBytes(q)
	}
	return family, columnBytes(name)
}

// columnBytes reads \xNN. A name with any other backslash is as it is.
func columnBytes(name string) string {
	if strings.Contains(name, `\x`) {
		if b, err := rowkey.Parse(name); err == nil {
			return string(b)
		}
	}
	return name
}

// question returns the hash that identifies the query in a page token.
func (r *reading) question(s spec.Job, key keygen.Expr, q Query, modulus int) uint64 {
	parts := [][]byte{[]byte(r.req.Table.String()), []byte(s.Family), []byte(strconv.Itoa(modulus)), r.keys.Lo, r.keys.Hi,
		fmt.Appendf(nil, "%t %d %t %q", q.Raw, len(r.keys.Heads), q.Full, q.Values), r.keys.Heads[0]}
	if key != nil {
		parts = append(parts, []byte(key.String()))
	}
	if q.Full || r.filter != nil && q.Values == nil {
		parts = append(parts, fmt.Appendf(nil, "%q %q %q", q.From, q.To, q.Prefix))
	}
	if q.Bound != nil {
		parts = append(parts, q.Bound)
	}
	return questionHash(parts...)
}
