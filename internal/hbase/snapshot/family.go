package snapshot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tsuna/gohbase/pb"
)

// Family holds the settings of a column family's descriptor that determine
// which cells a Scan returns.
type Family struct {
	Name        string
	Versions    int   // kept per column, at least 1
	MinVersions int   // versions per column that TTL does not remove
	TTL         int64 // milliseconds; math.MaxInt64: cells live for ever
	KeepDeleted bool  // KEEP_DELETED_CELLS: a compaction keeps cells that a marker hides, and counts them among the versions
	BlockSize   int   // of files that HBase writes, bytes before compression
}

// neverExpires is HConstants.FOREVER, in seconds.
const neverExpires = math.MaxInt32

// families reads the descriptors, with the defaults of HBase 2.6
// (ColumnFamilyDescriptorBuilder). It refuses settings that change the meaning
// of cells in ways that visible.go does not implement.
func families(schema *pb.TableSchema) ([]Family, error) {
	var all []Family
	for _, f := range schema.GetColumnFamilies() {
		family := Family{Name: string(f.GetName()), Versions: 1, TTL: math.MaxInt64, BlockSize: 64 << 10}
		if family.Name == "" || family.Name[0] == '.' || strings.ContainsAny(family.Name, "/:\\") {
			return nil, fmt.Errorf("%w: a family with an illegal name", ErrDamaged)
		}
		for _, a := range f.GetAttributes() {
			if err := family.attribute(string(a.GetFirst()), string(a.GetSecond())); err != nil {
				return nil, fmt.Errorf("family %s: %w", family.Name, err)
			}
		}
		all = append(all, family)
	}
	slices.SortFunc(all, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the table has no family", ErrDamaged)
	}
	return all, nil
}

func (f *Family) attribute(key, value string) error {
	switch key {
	case "VERSIONS", "MIN_VERSIONS", "TTL", "BLOCKSIZE":
		if key == "TTL" && value == "FOREVER" { // a value that HBase's shell may have stored
			return nil
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%w: its %s is not a number", ErrDamaged, key)
		}
		switch {
		case key == "VERSIONS":
			f.Versions = int(max(n, 1))
		case key == "MIN_VERSIONS":
			f.MinVersions = int(max(n, 0))
		case key == "BLOCKSIZE":
			f.BlockSize = int(max(n, 1))
		case n != neverExpires && n != -1: // HStore.determineTTLFromFamily
			f.TTL = n * 1000
		}
	case "KEEP_DELETED_CELLS": // with TTL, deleted cells are kept until they expire
		f.KeepDeleted = strings.EqualFold(value, "true") || strings.EqualFold(value, "ttl")
	case "NEW_VERSION_BEHAVIOR", "IS_MOB":
		if strings.EqualFold(value, "true") {
			return fmt.Errorf("%s is true: %w", key, ErrUnsupported)
		}
	case "ENCRYPTION":
		if value != "" {
			return fmt.Errorf("its files are encrypted: %w", ErrUnsupported)
		}
	}
	return nil
}
