package spec

import (
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
)

// Family is the column family's part of a plan.
type Family struct {
	Name        string
	Compression hfile.Compression
	Encoding    hfile.Encoding
	Zstd        hfile.ZstdFraming // for compression ZSTD: what the servers' codec reads
	Bloom       hfile.BloomType
	BloomPrefix int
	BlockSize   int         // bytes, 0 for HBase's default
	Level       hfile.Level `json:",omitempty"` // of the compression; no table has one
}

// DefaultFamily is what a family is taken for where no table says.
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

// ApplyTo puts the spec's own settings of the family over the table's.
func (s Spec) ApplyTo(f Family) (Family, error) {
	var errs []error
	set := func(given string, parse func() error) {
		if given != "" {
			errs = append(errs, parse())
		}
	}
	set(s.Compression, func() (err error) { f.Compression, err = hfile.ParseCompression(s.Compression); return err })
	f.Level = hfile.LevelDefault
	set(s.CompressionLevel, func() (err error) { f.Level, err = hfile.ParseLevel(s.CompressionLevel); return err })
	set(s.Encoding, func() (err error) { f.Encoding, err = hfile.ParseEncoding(s.Encoding); return err })
	set(s.Bloom, func() (err error) { f.Bloom, err = hfile.ParseBloomType(s.Bloom); return err })
	if s.BlockSize > 0 {
		f.BlockSize = int(s.BlockSize)
	}
	return f, fail.With(fail.Config, errors.Join(errs...))
}

// ApplyToAll is [Spec.ApplyTo] for each of several families.
func (s Spec) ApplyToAll(families []Family) ([]Family, error) {
	own := make([]Family, len(families))
	for i, f := range families {
		var err error
		if own[i], err = s.ApplyTo(f); err != nil {
			return nil, err
		}
	}
	return own, nil
}
