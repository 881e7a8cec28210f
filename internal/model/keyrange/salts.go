package keyrange

import (
	"bytes"
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Salts are the salts of a key. Each has its own range of rows.
type Salts struct {
	key     Key
	modulus int
	heads   [][]byte
}

// Limits of [Salts.Check]. It looks at fewer than twice checkedSalts of the salts, and fewer than twice checkedRows of their rows; and at fewer than
// twice checkedGaps of the ranges between the salts, and checkedRows of their rows.
const (
	checkedRows  = 48
	checkedSalts = 12
	checkedGaps  = 128
)

// Salts returns the salts of a key with a modulus; nil if the key has no salt.
func (k Key) Salts(modulus int) (*Salts, error) {
	if len(k.Head) == 0 {
		return nil, nil
	}
	heads, err := k.Heads(modulus)
	return &Salts{k, modulus, heads}, err
}

// Check samples rows of a table and refuses the table if it has other salts, because ranges with the wrong salts would omit most of the requested rows.
// first returns the keys of the first n rows of a range. Check looks for rows between the salts and, if the key stores the columns of its salt, computes
// the salts of rows again. With a wrong modulus, at least half of the rows differ, so a quarter is enough to refuse.
func (s *Salts) Check(table string, first func(r Range, n int) ([][]byte, error)) error {
	parser, _ := keygen.CompileParser(s.key.Spec, keygen.Options{Regions: s.modulus}) // nil: salts cannot be computed again
	var values [][]byte
	if parser != nil {
		values = make([][]byte, len(parser.Columns()))
	}
	var seen, other int
	for i := 0; i < len(s.heads); i += max(1, len(s.heads)/checkedSalts) {
		rows, err := first(Range{Start: s.heads[i], Stop: loader.PrefixEnd(s.heads[i])}, checkedRows/min(len(s.heads), checkedSalts))
		if err != nil {
			return err
		}
		seen += len(rows)
		for _, row := range rows {
			if parser != nil && errors.Is(parser.Parse(row, values), keygen.ErrForeignKey) {
				other++
			}
		}
	}
	gaps := s.gaps()
	left := checkedRows
	for i := 0; i < len(gaps) && left > 0; i += max(1, len(gaps)/checkedGaps) {
		rows, err := first(gaps[i], left)
		if err != nil {
			return err
		}
		seen, other, left = seen+len(rows), other+len(rows), left-len(rows)
	}
	if 4*other <= seen {
		return nil
	}
	return fail.Errorf(fail.Check, "%s: %d of %s that were looked at have other salts than %s with %s: say how many there are with %s", table, other, setting.Count(seen, "row"), s.key.Spec,
		setting.Count(s.modulus, "salt"), setting.SaltBuckets)
}

// Sample returns the ranges of at most n salts, and at most n ranges between the salts.
func (s *Salts) Sample(n int) (salts, between []Range) {
	for i := 0; i < len(s.heads); i += (len(s.heads) + n - 1) / n {
		salts = append(salts, Range{Start: s.heads[i], Stop: loader.PrefixEnd(s.heads[i])})
	}
	gaps := s.gaps()
	for i := 0; i < len(gaps); i += (len(gaps) + n - 1) / n {
		between = append(between, gaps[i])
	}
	return salts, between
}

// gaps returns the ranges between the salts. All of them begin with the constant bytes that begin the key, if there are any.
func (s *Salts) gaps() (list []Range) {
	var lead []byte
	if l, ok := s.key.Head[0].(keygen.Literal); ok {
		lead = l.Bytes
	}
	at, end := lead, loader.PrefixEnd(lead)
	for _, head := range s.heads {
		if bytes.Compare(at, head) < 0 {
			list = append(list, Range{Start: at, Stop: head})
		}
		if at = loader.PrefixEnd(head); len(at) == 0 {
			return list
		}
	}
	if len(end) == 0 || bytes.Compare(at, end) < 0 {
		list = append(list, Range{Start: at, Stop: end})
	}
	return list
}
