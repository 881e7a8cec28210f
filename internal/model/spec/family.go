package spec

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// Family holds the settings of a column family in a plan.
type Family struct {
	Name        string
	Compression hfile.Compression
	Encoding    hfile.Encoding
	Zstd        hfile.ZstdFraming // for compression ZSTD: the framing that the servers' codec reads
	Bloom       hfile.BloomType
	BloomPrefix int
	BlockSize   int         // bytes, 0 for HBase's default
	Level       hfile.Level `json:",omitempty"` // compression level; tables do not define it
	Versions    int         `json:",omitempty"` // maximum number of versions loaded per cell; 0 if the job writes one, or if no table defines how many are kept
}

// String returns the family's name and its settings for messages. Families with other settings have other texts.
func (f Family) String() string {
	text := fmt.Sprintf("%s (compression %v, encoding %v, bloom %v", f.Name, f.Compression, f.Encoding, f.Bloom)
	more := func(name string, value any, given bool) {
		if given {
			text += fmt.Sprintf(", %s %v", name, value)
		}
	}
	more("prefix", f.BloomPrefix, f.BloomPrefix > 0)
	more("block size", f.BlockSize, f.BlockSize > 0)
	more("level", f.Level, f.Level != hfile.LevelDefault)
	more("framing", "blocks", f.Zstd == hfile.ZstdBlocks)
	more("versions", f.Versions, f.Versions > 0)
	return text + ")"
}

// HFileOptions returns the options for writing files of the family. The job's timestamp replaces every clock, so the same plan gives the same bytes.
func (f Family) HFileOptions(timestamp int64) hfile.Options {
	return hfile.Options{
		Family:      []byte(f.Name),
		Compression: f.Compression,
		Level:       f.Level,
		Zstd:        f.Zstd,
		Encoding:    f.Encoding,
		Bloom:       f.Bloom,
		BloomPrefix: f.BloomPrefix,
		BlockSize:   f.BlockSize,
		CreateTime:  timestamp, BulkloadTime: timestamp,
	}
}

// DefaultFamily returns the settings of a family without a table that defines them.
func DefaultFamily(name string) Family {
	return Family{Name: name, Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow}
}

// DefaultFamilies returns [DefaultFamily] of each name.
func DefaultFamilies(names []string) []Family {
	families := make([]Family, len(names))
	for i, name := range names {
		families[i] = DefaultFamily(name)
	}
	return families
}

// FamilyNames returns the names of families, in order.
func FamilyNames(families []Family) (names []string) {
	for _, f := range families {
		names = append(names, f.Name)
	}
	return names
}

// ApplyTo overrides the table's settings of a family with the spec's.
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
		f.BlockSize = int(min(s.BlockSize, math.MaxInt32))
	}
	if f.BlockSize > hfile.MaxBlockSize {
		errs = append(errs, fmt.Errorf("family %s: a block of an HFile has at most %s: give a smaller `block_size`", f.Name, Size(hfile.MaxBlockSize)))
	}
	if s.Duplicates != "versions" {
		f.Versions = 0
	} else if s.Versions > 0 {
		if f.Versions > 0 && s.Versions > f.Versions {
			errs = append(errs, setting.Errorf("%s %d: family %s keeps %d of a cell", setting.Versions, s.Versions, f.Name, f.Versions))
		}
		f.Versions = s.Versions
	}
	return f, fail.With(fail.Config, errors.Join(errs...))
}

// Overrides reports whether a job's files of a family differ from the table's settings. It ignores the number of versions, which is not a property of files.
func (f Family) Overrides(table Family) bool {
	table.Versions = f.Versions
	return f != table
}

// checkVersions refuses settings that contradict the duplicate policy versions, and a number of versions without that policy.
func (s Spec) checkVersions(versions bool) error {
	switch {
	case s.Versions < 0:
		return setting.Errorf("%s %d is below 0", setting.Versions, s.Versions)
	case s.Versions > math.MaxInt32:
		return setting.Errorf("%s %d is above %d", setting.Versions, s.Versions, math.MaxInt32)
	case s.Versions > 0 && !versions:
		return setting.Errorf("%s needs %s versions", setting.Versions, setting.Duplicates)
	case versions && s.CellTimestamp == nil:
		return setting.Errorf("%s versions needs a `cell_timestamp`, which distinguishes the versions of a cell", setting.Duplicates)
	case versions && slices.ContainsFunc(s.Tables, func(t TableSpec) bool { return t.Index != "" }):
		return setting.Errorf("%s versions: an index would have entries of old versions; say fail, first or last, or leave the indexes out", setting.Duplicates)
	}
	return nil
}

// ApplyToAll returns [Spec.ApplyTo] of each family.
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
