package query

import (
	"bulkload/internal/model/spec"
)

// A RowRange is rows from Start on and before Stop; empty bounds are the table's ends.
type RowRange struct{ Start, Stop []byte }

// RowRanges are where the rows of a query's range are, of From and To, Prefix, or StartRow and StopRow: a range for each salt, in
// order. The split points of the table say how many salts it has where the key does not.
func RowRanges(s spec.Job, q Query, splits [][]byte) ([]RowRange, error) {
	if err := q.withDefaults().Validate(); err != nil {
		return nil, err
	}
	if q.Raw {
		return []RowRange{{q.StartRow, q.StopRow}}, nil
	}
	n, err := s.SaltModulus(splits)
	if err != nil {
		return nil, err
	}
	k := splitSalt(s.RowKey())
	var keys keyRange
	if q.Prefix != nil {
		keys, err = k.beginning(n, q.Prefix)
	} else {
		keys, err = k.between(n, q.From, q.To)
	}
	if err != nil {
		return nil, err
	}
	var ranges []RowRange
	for _, head := range keys.heads {
		ranges = append(ranges, RowRange{keys.start(head), keys.stop(head)})
	}
	return ranges, nil
}
