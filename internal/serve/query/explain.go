package query

import (
	"context"
	"slices"

	"bulkload/internal/model/keyrange"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

// KeyPart is a part of a row key with its bytes.
type KeyPart struct {
	Part  string // in the language of key specs
	Bytes []byte // nil if the query key does not determine them
}

// Where describes the location of the rows of a query key.
type Where struct {
	Parts []KeyPart // parts that the query key determines, and salts before them
	// Start is the common prefix of all its row keys, or nil if several salts have rows.
	Start []byte
	Salts int // number of salts whose rows are merged
	// Region contains the first of the rows. With one salt it contains all rows, unless a split point is among them.
	Region loader.Region
}

// Explain returns the location of the rows of a query key; values are the values of [Columns].
func (t *Table) Explain(ctx context.Context, values []string) (*Where, error) {
	regions, n, err := t.split(ctx)
	if err != nil {
		return nil, err
	}
	k := keyrange.Split(t.key)
	r, _, err := queryKey(t.job, k, n, values)
	if err != nil {
		return nil, err
	}
	known := byColumn(t.job.QueryColumns(t.key), values)
	rest, err := k.Findable(known)
	if err != nil {
		return nil, err
	}
	w := &Where{Salts: len(r.Heads)}
	for _, p := range slices.Concat(k.Head, rest) {
		part := KeyPart{Part: p.String()}
		if keyrange.MadeOf(p, known) {
			if part.Bytes, err = keyrange.Bytes([]keygen.Expr{p}, n, known); err != nil {
				return nil, err
			}
		}
		w.Parts = append(w.Parts, part)
	}
	if len(r.Heads) == 1 {
		w.Start = r.Start(r.Heads[0])
	}
	at := slices.IndexFunc(regions, func(g loader.Region) bool { return g.Contains(r.Start(r.Heads[0])) })
	if at >= 0 {
		w.Region = regions[at]
	}
	return w, nil
}
