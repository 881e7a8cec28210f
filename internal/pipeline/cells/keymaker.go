package cells

import (
	"fmt"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
)

// WarnKey logs warnings about a plan's keys before a row is read: about their
// distribution over the regions, and about their length.
func (p *Plan) WarnKey(e progress.Events) {
	r, err := keygen.Check(p.Key, keygen.CheckOptions{Regions: p.Modulus, Splits: p.Ranges.Splits()})
	if err != nil {
		return // without columns nothing can be unknown
	}
	for _, w := range r.Warnings {
		e.Warn("row key", "key", p.Key.String(), "warning", w)
	}
}

// KeyOptions are the options of [NewKeyMaker].
type KeyOptions struct {
	Splits [][]byte // of the table; default: one region for each salt, if the spec's salt takes its modulus from the job
	Unique string   // column with unique values, for statements about collisions; empty: no such statements
}

// A KeyMaker makes and explains the keys of single records. It belongs to one
// goroutine.
type KeyMaker struct {
	Spec   string
	Report *keygen.Report // statements that hold for all records

	program *keygen.Program
	at      []int // column of each field
	fields  [][]byte
	key     []byte
	ends    []int
	ranges  *partition.Ranges // nil if the regions are not known
}

// NewKeyMaker prepares the spec's key for records of these columns.
func NewKeyMaker(s spec.Job, columns []string, o KeyOptions) (*KeyMaker, error) {
	e, n := s.RowKey(), s.Regions
	var err error
	if n == 0 && keygen.NeedsRegions(e) {
		if n, err = s.GivenModulus(o.Splits); err != nil {
			return nil, err
		}
	}
	splits := o.Splits
	if splits == nil && keygen.NeedsRegions(e) {
		if first, ok := keygen.Parts(e)[0].(keygen.Call); ok {
			splits, _ = partition.SplitsOfSalt(first.Func, n)
		}
	}
	if o.Unique != "" && !slices.Contains(columns, o.Unique) {
		return nil, fail.Errorf(fail.Config, "unknown column %q in the unique check (known: %s)", o.Unique, keygen.ColumnList(columns))
	}
	m := &KeyMaker{Spec: s.Key()}
	if m.Report, err = keygen.Check(e, keygen.CheckOptions{Columns: columns, Unique: o.Unique, Regions: n, Splits: splits}); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("key %s: %w", s.Key(), err))
	}
	if m.program, err = keygen.Compile(e, keygen.Options{Regions: n}); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if splits != nil {
		if m.ranges, err = partition.New(splits); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	}
	for _, c := range m.program.Columns() {
		m.at = append(m.at, slices.Index(columns, c))
	}
	m.fields = make([][]byte, len(m.at))
	return m, nil
}

// Key returns the key of a record, whose fields are in the order of the
// columns. It is valid until the next call.
func (m *KeyMaker) Key(record [][]byte) ([]byte, error) {
	for i, c := range m.at {
		m.fields[i] = record[c]
	}
	var err error
	m.key, m.ends, err = m.program.AppendParts(m.key[:0], m.ends[:0], m.fields)
	if err == nil && len(m.key) == 0 {
		err = NoKey()
	}
	return m.key, fail.With(fail.BadRows, err)
}

// NoKey returns the error for a record with an empty key: HBase has no such row.
func NoKey() error { return &keygen.FieldError{Err: keygen.ErrNoKey} }

// An ExplainedKey is a key with its parts and the region that it belongs to.
type ExplainedKey struct {
	Key    string        `json:"key"` // printable ASCII unchanged, other bytes as \xNN
	Bytes  int           `json:"bytes"`
	Parts  []KeyPart     `json:"parts"`
	Region *RegionOfKeys `json:"region,omitempty"` // nil if the regions are not known
}

// KeyPart is the value of one part of a spec.
type KeyPart struct {
	Part  string `json:"part"`
	Value string `json:"value"`
	Bytes int    `json:"bytes"`
}

// RegionOfKeys identifies a region of a table by its bounds.
type RegionOfKeys struct {
	Number int     `json:"number"` // from 1
	Of     int     `json:"of"`
	Start  string  `json:"start"`
	End    string  `json:"end"`
	Share  float64 `json:"share,omitempty"` // expected share of all rows, if it can be determined
}

// Explain returns the key of a record with its parts and its region.
func (m *KeyMaker) Explain(record [][]byte) (*ExplainedKey, error) {
	key, err := m.Key(record)
	if err != nil {
		return nil, err
	}
	x := &ExplainedKey{Key: rowkey.String(key), Bytes: len(key)}
	from := 0
	for i, end := range m.ends {
		x.Parts = append(x.Parts, KeyPart{m.program.Parts()[i].String(), rowkey.String(key[from:end]), end - from})
		from = end
	}
	if m.ranges != nil {
		i := m.ranges.Find(key)
		x.Region = &RegionOfKeys{Number: i + 1, Of: m.ranges.Len(), Start: rowkey.String(m.ranges.Start(i)), End: rowkey.String(m.ranges.End(i))}
		if m.Report.Shares != nil {
			x.Region.Share = m.Report.Shares[i]
		}
	}
	return x, nil
}

// Salts returns the number of values of the salt with which keys begin, 0 if
// they do not begin with a salt.
func (p *Plan) Salts() int {
	first, ok := keygen.Parts(p.Key)[0].(keygen.Call)
	switch {
	case !ok || first.Func != "salt":
		return 0
	case len(first.Ints) > 0:
		return first.Ints[0]
	}
	return p.Modulus
}
