package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

// GetStats tell how an answer came about.
type GetStats struct {
	Prefix []byte
	Rows   int
	Dial   time.Duration // to find cluster, table and regions
	Scan   time.Duration // to read the rows
}

// Get gives all rows of a query key: args are the values of the spec's query
// columns. The row is valid until fn returns.
func Get(ctx context.Context, env *Env, s Spec, args []string, fn func(loader.Row) error) (*GetStats, error) {
	start := time.Now()
	s = s.withDefaults()
	table, err := tableName(s)
	if err != nil {
		return nil, err
	}
	name, err := loader.ParseTableName(table)
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	key, err := keygen.Parse(s.Key)
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	query := s.Query
	if len(query) == 0 {
		query = keygen.Columns(key)[:1]
	}
	if len(args) != len(query) {
		return nil, failf(KindConfig, "a query key has the columns %q: %d values are given", query, len(args))
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var splits [][]byte
	if s.Regions == 0 && needsModulus(key) {
		regions, err := c.Regions(ctx, name)
		if err != nil {
			return nil, fail(KindCheck, err)
		}
		for _, r := range regions[1:] {
			splits = append(splits, r.Start)
		}
	}
	n, err := modulus(s, key, splits)
	if err != nil {
		return nil, err
	}
	prefix, err := queryPrefix(key, query, args, n)
	if err != nil {
		return nil, err
	}
	known := s.queryCells(query, args)
	st := &GetStats{Prefix: prefix, Dial: time.Since(start)}
	scanned := time.Now()
	req := loader.ScanRequest{Table: name, Start: prefix, Stop: loader.PrefixEnd(prefix), Families: s.Families(), CacheBlocks: true}
	err = c.Scan(ctx, req, func(r loader.Row) error {
		// keys without a separator: AB is a prefix of ABC's rows too
		if !matches(r, known) {
			return nil
		}
		st.Rows++
		return fn(r)
	})
	st.Scan = time.Since(scanned)
	return st, fail(KindCheck, err)
}

// matches says whether the row's own cells agree with the query. Columns that
// the table does not hold are taken to agree.
func matches(r loader.Row, query []knownCell) bool {
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, q := range query {
			if q.Qualifier == string(c.Qualifier) && q.Family == string(c.Family) && q.value != string(c.Value) {
				return false
			}
		}
	}
	return true
}

// queryPrefix is what all row keys of a query key start with.
func queryPrefix(key keygen.Expr, query, args []string, modulus int) ([]byte, error) {
	e := keygen.Prefix(key, query)
	if e == nil {
		return nil, failf(KindConfig, "key %s: its first part cannot be made from %q alone, so rows cannot be found by them", key, query)
	}
	p, err := keygen.Compile(e, keygen.Options{Regions: modulus})
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, []byte(args[slices.Index(query, c)]))
	}
	prefix, err := p.Append(nil, fields)
	if err != nil {
		return nil, fail(KindConfig, fmt.Errorf("query: %w", err))
	}
	return prefix, nil
}
