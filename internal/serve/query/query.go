package query

import (
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

// Query says which rows of a table to read. Either Values, or Prefix, or From
// and To, or Raw with rows; nothing of these is the whole table.
type Query struct {
	// Values are the values of the spec's query columns: the rows of one query key.
	Values []string
	// From and To bound the original key, which is what follows the salt: values of its first columns. From is the first
	// that is wanted, To the first that is not. None means no bound.
	From, To []string
	// Prefix is values of the original key's first columns; the last may be the beginning of a value.
	Prefix []string
	// Raw takes StartRow and StopRow as bytes of row keys, salt and all; no key spec is needed. Empty means the table's end.
	Raw               bool
	StartRow, StopRow []byte
	// Full reads the whole table and keeps the rows in the range, by the values of their cells. It is for keys that do not
	// have the order of From, To and Prefix, and rows come in the order of such keys.
	Full bool

	// Limit is the greatest number of rows. Default: all.
	Limit int64
	// Page is ReadStats.Next of the page before: the rows after it are read. The rest of the query must be the same, but for
	// Limit and Columns.
	Page string
	// Columns are the qualifiers to read, or family:qualifier. Default: all of the spec's family.
	Columns []string
	// Memory is about how many bytes of rows are held, what is on its way from servers included; for each salt that is one
	// row and 16 KiB at least, see More. Default 64 MiB.
	Memory spec.Size
	// Scans is how many scans are under way at a time. Default 16.
	Scans int
	// Explain has the servers count what they read, for ReadStats.Regions.
	Explain bool
	// Stored gives the values of typed cells as they are stored. Default: their texts.
	Stored bool
	// Steady has the reading end with ErrRegionsChanged where the table's regions changed meanwhile, so that all rows given
	// before are of one table. A region that only moved is not a change; a disabled table is an error at once. Default: a scan
	// continues in the new regions, and a disabled table is waited for.
	Steady bool
	// RowBytes is the most that a row may have, keys included; a larger one ends the reading with loader.ErrRowTooLarge.
	// Default: no limit.
	RowBytes int64
	// More is asked before rows of more than Memory are held, for the bytes above it, by several goroutines. If it gives
	// none the reading ends with ErrMemory. What it gave is in use until the reading ends. Default: rows are held all the same.
	More func(bytes int64) bool
	// Borrowed lends rows to the reader's function until it returns; their memory is used for later rows, also those of other
	// readings. Default: rows are the function's own to keep.
	Borrowed bool
	// Bound is a value to which page tokens are bound in addition to the query, such as the digest of a job file. Default: nothing.
	Bound []byte
}

func (q Query) withDefaults() Query {
	if q.Memory == 0 {
		q.Memory = 64 << 20
	}
	if q.Scans == 0 {
		q.Scans = 16
	}
	return q
}

// Validate returns an error if fields exclude each other.
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

// ReadStats say how an answer came about.
type ReadStats struct {
	Rows  int `json:"rows"`
	Heads int `json:"salts"` // values of the salt whose rows were merged; 1 without a salt
	// Next is the page token for what the limit left, also after an error; empty when nothing is left, or nothing was read.
	Next    string        `json:"next_page,omitempty"`
	Dial    time.Duration `json:"-"` // to find cluster, table and regions
	Scan    time.Duration `json:"-"` // to read the rows, with what the caller did with them
	Regions []RegionRead  `json:"regions,omitempty"`
}

// reading is a query that was made ready for a table.
type reading struct {
	keys   keyrange.Rows
	filter *rowFilter
	req    loader.ScanRequest
	drop   []loader.Column // read for the filter only
	hash   uint64
}

// Read gives the rows of a query in the order of the original key: of a table
// with a salt those of each of its values, merged. Values of typed cells are
// their texts. The row is fn's to keep. An
// error of fn ends the reading and is returned. The stats are given with an
// error, too, once reading has begun.
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
	if err := t.checkRange(ctx, q); err != nil {
		return nil, err
	}
	return t.read(ctx, q, start, fn)
}

// newReading decides where the rows are and what is read of them.
func (t *Table) newReading(q Query, regions []loader.Region) (*reading, error) {
	s, key := t.job, t.key
	r := &reading{req: loader.ScanRequest{Table: t.name, CacheBlocks: true, RowBytes: q.RowBytes, Prompt: true}}
	if q.Raw || key == nil {
		if !q.Raw && (q.Values != nil || q.Prefix != nil || len(q.From)+len(q.To) > 0) {
			return nil, fail.Errorf(fail.Config, "no key: name how row keys are made with %s, or key in the job file", setting.Key)
		}
		// the head is empty and the bounds are those of whole row keys
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
		r.keys, err = k.Between(n, q.From, q.To)
	}
	if err != nil {
		return nil, err
	}
	r.hash = r.question(s, key, q, n)
	var others []spec.CellName
	if r.filter != nil {
		others = r.filter.cells
	}
	// A row that has none of the wanted columns would not be given. It has the key's, which are never empty as a rule.
	s.CellsOf(keygen.Columns(key), func(_ int, name spec.CellName, _ celltype.Converter) { others = append(others, name) })
	return r, r.setColumns(s, q, others)
}

// setColumns asks for the wanted columns, and for others that are dropped again.
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
		add(family, qualifier)
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

// SplitColumn reads family:qualifier; a name without a colon is a qualifier of the given family.
func SplitColumn(name, family string) (string, string) {
	if f, q, ok := strings.Cut(name, ":"); ok {
		return f, q
	}
	return family, name
}

// question returns the hash by which a page token knows its query.
func (r *reading) question(s spec.Job, key keygen.Expr, q Query, modulus int) uint64 {
	parts := [][]byte{[]byte(r.req.Table.String()), []byte(s.Family), []byte(strconv.Itoa(modulus)), r.keys.Lo, r.keys.Hi,
		fmt.Appendf(nil, "%t %d %t %q", q.Raw, len(r.keys.Heads), q.Full, q.Values), r.keys.Heads[0]}
	if key != nil {
		parts = append(parts, []byte(key.String()))
	}
	if q.Full {
		parts = append(parts, fmt.Appendf(nil, "%q %q %q", q.From, q.To, q.Prefix))
	}
	if q.Bound != nil {
		parts = append(parts, q.Bound)
	}
	return questionHash(parts...)
}
