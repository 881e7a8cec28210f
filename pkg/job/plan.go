package job

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"bulkload/pkg/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// A Plan is all that the content of the HFiles depends on beside the inputs.
type Plan struct {
	Table      string // for names; may be empty in a build
	Family     Family // the first of the families
	Families   []familySpan
	Ranges     *partition.Ranges
	Key        keygen.Expr
	Modulus    int      // of salts
	Columns    []string // of the records, in their order
	Timestamp  int64    // milliseconds
	StoreEmpty bool
	Duplicates extsort.Policy
	Mapping    Mapping

	slots  []slot // what a record becomes
	order  []int  // columns of the slots, for records that only need to be put in order
	mapped bool   // they need more
	wide   []int  // columns of the qualifiers that are in records: rows are made of all records of a key
	timing timing
}

// Family is the column family's part of a plan.
type Family struct {
	Name        string
	Compression hfile.Compression
	Encoding    hfile.Encoding
	Zstd        hfile.ZstdFraming // for compression ZSTD: what the servers' codec reads
	Bloom       hfile.BloomType
	BloomPrefix int
	BlockSize   int // bytes, 0 for HBase's default
}

// DefaultFamily is what a family is taken for where no table tells.
func DefaultFamily(name string) Family {
	return Family{Name: name, Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow}
}

// DefaultFamilies are [DefaultFamily] of each name.
func DefaultFamilies(names []string) []Family {
	families := make([]Family, len(names))
	for i, name := range names {
		families[i] = DefaultFamily(name)
	}
	return families
}

// NewPlan makes a plan from a spec, the columns of its inputs, the family's
// settings and the split points. The spec's own settings of the family have
// been applied to it by [Spec.ApplyTo]. A job of several families has the
// settings of each among f and more; f's are those of one that is not there.
func NewPlan(s Spec, columns []string, f Family, splits [][]byte, now int64, more ...Family) (*Plan, error) {
	s = s.withDefaults()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Table: s.Table, Family: f, Columns: columns, Mapping: s.Mapping, Timestamp: s.Timestamp, StoreEmpty: s.Empty == "store"}
	if p.Timestamp == 0 {
		p.Timestamp = now
	}
	p.Duplicates, _ = extsort.ParsePolicy(s.Duplicates)
	var err error
	if p.Ranges, err = partition.New(splits); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if p.Key, err = keygen.Parse(s.Key); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if p.Modulus, err = modulus(s, p.Key, splits); err != nil {
		return nil, err
	}
	if _, err := keygen.Check(p.Key, keygen.CheckOptions{Columns: columns}); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("key %s: %w", s.Key, err))
	}
	for _, c := range s.Query {
		if !slices.Contains(columns, c) {
			return nil, fail.Errorf(fail.Config, "query: unknown column %q (the input has %s)", c, keygen.ColumnList(columns))
		}
	}
	return p, p.mapCells(s.Mapping, s.FamilyName(), append(more, f))
}

// modulus is the salt's. By default it is the table's: the number of salts
// for which it was split. A count of regions that is no such number would put
// rows where no reader looks for them, so it is refused.
func modulus(s Spec, key keygen.Expr, splits [][]byte) (int, error) {
	if s.Regions > 0 {
		return s.Regions, nil
	}
	if n := partition.SaltModulus(splits); n > 0 {
		return n, nil
	}
	if !keygen.NeedsRegions(key) {
		return 1, nil
	}
	return 0, fail.Errorf(fail.Config, "the key %s needs a modulus for its salt, and the %d regions of the table are not split by salt: give the modulus that readers of the table use with --regions",
		key, len(splits)+1)
}

// qualifiers are those of a family's cells in order.
func (p *Plan) qualifiers(f familySpan) [][]byte {
	var q [][]byte
	for _, s := range p.slots[f.from:f.to] {
		q = append(q, []byte(s.qualifier))
	}
	return q
}

// hfileOptions are the writer's for every file of a family. The job's
// timestamp stands for each clock, so the same plan gives the same bytes.
func (p *Plan) hfileOptions(f Family) hfile.Options {
	return hfile.Options{
		Family:      []byte(f.Name),
		Compression: f.Compression,
		Zstd:        f.Zstd,
		Encoding:    f.Encoding,
		Bloom:       f.Bloom,
		BloomPrefix: f.BloomPrefix,
		BlockSize:   f.BlockSize,
		CreateTime:  p.Timestamp, BulkloadTime: p.Timestamp,
	}
}

// fileName is the name of a region's HFile: 32 lower-case hex digits, as
// HBase names store files, that follow from what the file is.
func (p *Plan) fileName(family string, region int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%q %q %d %q", p.Table, family, p.Timestamp, p.Ranges.Start(region)))
	return hex.EncodeToString(sum[:])
}

// applyToAll is [Spec.ApplyTo] for each of several families.
func (s Spec) applyToAll(families []Family) ([]Family, error) {
	own := make([]Family, len(families))
	for i, f := range families {
		var err error
		if own[i], err = s.ApplyTo(f); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// ApplyTo puts the spec's own settings of the family over the table's.
func (s Spec) ApplyTo(f Family) (Family, error) {
	var errs []error
	set := func(given string, parse func() error) {
		if given != "" {
			errs = append(errs, parse())
		}
	}
	set(s.Compression, func() (err error) { f.Compression, err = hfile.ParseCompression(s.Compression); return err })
	set(s.Encoding, func() (err error) { f.Encoding, err = hfile.ParseEncoding(s.Encoding); return err })
	set(s.Bloom, func() (err error) { f.Bloom, err = hfile.ParseBloomType(s.Bloom); return err })
	if s.BlockSize > 0 {
		f.BlockSize = int(s.BlockSize)
	}
	return f, fail.With(fail.Config, errors.Join(errs...))
}
