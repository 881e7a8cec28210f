package serve

import (
	"context"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"
)

// source is the table, or the index of a table, that a page is read from.
type source interface {
	Read(ctx context.Context, q query.Query, fn func(loader.Row) error) (*query.ReadStats, error)
}

// index is an index of a job, which callers select by by=NAME.
type index struct {
	name    string
	columns []string // columns of its query key
	rows    *query.Index
	fit     *fit
}

func indexesOf(c query.Cluster, job spec.Job) ([]*index, error) {
	var list []*index
	for _, t := range job.Targets() {
		if t.Index == "" {
			continue
		}
		rows, err := query.NewIndex(c, job, t.Index)
		if err != nil {
			return nil, err
		}
		list = append(list, &index{name: t.Index, columns: rows.Columns(), rows: rows, fit: &fit{}})
	}
	return list, nil
}

// index returns the index that a request names. If the index shows columns that the client may not read, it is forbidden:
// its page tokens contain their values.
func (r *resource) index(name string) (*index, error) {
	at := slices.IndexFunc(r.indexes, func(x *index) bool { return x.name == name })
	if at < 0 {
		names := make([]string, len(r.indexes))
		for i, x := range r.indexes {
			names[i] = x.name
		}
		if len(names) == 0 {
			return nil, problem(badParameter, "this job has no index").withParameter("by")
		}
		return nil, problem(badParameter, "this job has no such index; those are: %s", strings.Join(names, ", ")).withParameter("by")
	}
	x := r.indexes[at]
	if !r.shows(x) {
		return nil, problem(forbidden, "this client may not read all columns of the index").withParameter("by")
	}
	return x, nil
}

// shows reports whether a client with access to this resource may read through the index.
func (r *resource) shows(x *index) bool {
	if r.granted == nil {
		return true
	}
	return !slices.ContainsFunc(x.rows.Needs(), func(column string) bool { return !r.has(r.namesOf(column)) })
}

// Read is [query.Index.Read]. A failure of the index's own table does not mark the job's table as failed.
func (x *index) Read(ctx context.Context, q query.Query, fn func(loader.Row) error) (*query.ReadStats, error) {
	err := x.fit.check(ctx, x.rows.Table(), repeatCheck)
	if err != nil && failure(ctx, err).is(badQuery) { // no error of the request: the index does not show its modulus
		err = &fail.Error{Kind: fail.Check, Err: err}
	}
	var st *query.ReadStats
	if err == nil {
		if st, err = x.rows.Read(ctx, q, fn); err == nil && st.Rows == 0 && x.fit.doubtful() {
			err = x.fit.check(ctx, x.rows.Table(), emptyCheck)
		}
	}
	if err != nil {
		if p := failure(ctx, err); p.is(noTable) || p.is(tableDisabled) {
			err = problem(unavailable, "the table of the job or of its index is not in service")
		}
	}
	return st, err
}
