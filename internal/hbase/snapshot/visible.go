package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"bulkload/pkg/hfile"
)

// visible decides which cells a Scan returns. It is applied to all cells of a row and
// family in the order of a [merge], and implements the rules of ScanDeleteTracker,
// ScanWildcardColumnTracker and the query matchers of HBase 2.6.4. KEEP_DELETED_CELLS
// matters only with a time range: then markers that are newer than the range hide nothing.
type visible struct {
	versions int   // per column
	least    int   // MIN_VERSIONS
	oldest   int64 // timestamps below are expired
	now      int64 // milliseconds
	raw      bool
	keeps    bool  // KEEP_DELETED_CELLS
	since    int64 // cells of earlier timestamps are not returned
	until    int64 // nor are cells from this timestamp on; 0: no bound
	doubles  bool  // of a raw scan: a cell that was written again is returned again

	familyDeleted bool
	familyStamp   int64   // cells up to it are deleted
	familyExact   []int64 // timestamps whose cells are deleted, sorted
	hidden        []int64 // deleted timestamps of every row, sorted

	columnDeleted bool // by the marker below
	markerType    hfile.Type
	markerStamp   int64
	marker        []byte // its qualifier

	inColumn  bool
	column    []byte // the qualifier
	count     int    // of its versions
	hasLast   bool   // a cell of the column was returned, with:
	lastStamp int64
	lastType  hfile.Type
}

// newVisible returns the rules of a family. versions is the requested number, 0
// for all that the family keeps.
func newVisible(f Family, versions int, raw bool, now int64) visible {
	v := visible{versions: f.Versions, least: f.MinVersions, oldest: math.MinInt64, since: math.MinInt64, now: now, raw: raw, keeps: f.KeepDeleted}
	switch {
	case raw && versions == 0:
		v.versions = math.MaxInt
	case raw:
		v.versions = versions
	case versions > 0:
		v.versions = min(versions, f.Versions)
	}
	if !raw && f.TTL != math.MaxInt64 {
		v.oldest = now - f.TTL
	}
	return v
}

// between limits the timestamps to [since, until). 0: no bound.
func (v *visible) between(since, until int64) {
	if v.until = until; since > 0 {
		v.since = since
	}
}

// row begins a row, before its first cell.
func (v *visible) row() {
	v.familyDeleted, v.columnDeleted, v.inColumn = false, false, false
	v.familyExact = append(v.familyExact[:0], v.hidden...)
}

// shows reports whether the next cell of the row is visible.
func (v *visible) shows(c *hfile.Cell) (bool, error) {
	if len(c.Tags) > 0 {
		expired, err := v.expiredByTag(c)
		if err != nil || expired {
			return false, err
		}
	}
	switch c.Type {
	case hfile.Put:
	case hfile.Delete, hfile.DeleteColumn, hfile.DeleteFamily, hfile.DeleteFamilyVersion:
		if !v.raw {
			if !v.keeps || v.until == 0 || c.Timestamp < v.until {
				v.delete(c)
			}
			return false, nil
		}
	default:
		return false, fmt.Errorf("%w: a cell of type %d", hfile.ErrCorrupt, byte(c.Type))
	}
	if !v.raw && v.deleted(c) || c.Timestamp < v.since || v.until > 0 && c.Timestamp >= v.until {
		return false, nil
	}
	return v.version(c), nil
}

// delete records a delete marker. A marker that another one covers is ignored.
func (v *visible) delete(c *hfile.Cell) {
	if v.familyDeleted && c.Timestamp <= v.familyStamp {
		return
	}
	switch {
	case c.Type == hfile.DeleteFamily:
		v.familyDeleted, v.familyStamp = true, c.Timestamp
	case c.Type == hfile.DeleteFamilyVersion:
		if at, found := slices.BinarySearch(v.familyExact, c.Timestamp); !found {
			v.familyExact = slices.Insert(v.familyExact, at, c.Timestamp)
		}
	case v.columnDeleted && c.Type < v.markerType && bytes.Equal(c.Qualifier, v.marker):
	default:
		v.columnDeleted, v.markerType, v.markerStamp = true, c.Type, c.Timestamp
		v.marker = append(v.marker[:0], c.Qualifier...)
	}
}

// deleted reports whether a marker hides the cell.
func (v *visible) deleted(c *hfile.Cell) bool {
	if v.familyDeleted && c.Timestamp <= v.familyStamp {
		return true
	}
	if len(v.familyExact) > 0 {
		if _, found := slices.BinarySearch(v.familyExact, c.Timestamp); found {
			return true
		}
	}
	if !v.columnDeleted {
		return false
	}
	if bytes.Equal(c.Qualifier, v.marker) && (v.markerType == hfile.DeleteColumn || c.Timestamp == v.markerStamp) {
		return true
	}
	v.columnDeleted = false
	return false
}

// version counts the cell among the versions of its column and reports whether it is visible.
func (v *visible) version(c *hfile.Cell) bool {
	if !v.inColumn || !bytes.Equal(c.Qualifier, v.column) {
		v.inColumn, v.hasLast, v.count = true, false, 0
		v.column = append(v.column[:0], c.Qualifier...)
	} else if v.hasLast && c.Timestamp == v.lastStamp && c.Type == v.lastType {
		return v.doubles // the same cell in an older file
	}
	if c.Type == hfile.Put {
		v.count++ // in a raw scan, a marker is not a version
	}
	if v.count > v.versions || v.count > v.least && c.Timestamp < v.oldest {
		return false
	}
	v.hasLast, v.lastStamp, v.lastType = true, c.Timestamp, c.Type
	return true
}

// Types of tags (TagType, 2.6.4).
const (
	tagACL              = 1
	tagVisibility       = 2
	tagVisibilityFormat = 4
	tagMOB              = 5
	tagTTL              = 8
)

// expiredByTag reports whether the cell has expired according to its own TTL tag; if it
// has several, the first one counts (HStore.isCellTTLExpired, 2.6.4). It returns an error
// for cells that HBase would change or hide from some readers because of their tags.
func (v *visible) expiredByTag(c *hfile.Cell) (expired bool, err error) {
	first := true
	for t := c.Tags; len(t) > 0; {
		if len(t) < 3 {
			return false, fmt.Errorf("%w: tags are cut off", hfile.ErrCorrupt)
		}
		n := int(binary.BigEndian.Uint16(t))
		if n < 1 || n > len(t)-2 {
			return false, fmt.Errorf("%w: a tag of %d bytes in %d", hfile.ErrCorrupt, n, len(t)-2)
		}
		switch payload := t[3 : 2+n]; t[2] {
		case tagACL:
			return false, fmt.Errorf("cells with access rights of their own: %w", ErrUnsupported)
		case tagVisibility, tagVisibilityFormat:
			return false, fmt.Errorf("cells with visibility labels: %w", ErrUnsupported)
		case tagMOB:
			return false, fmt.Errorf("cells whose values are in MOB files: %w", ErrUnsupported)
		case tagTTL:
			if !first {
				break
			}
			if len(payload) != 8 {
				return false, fmt.Errorf("%w: a cell's lifetime of %d bytes", hfile.ErrCorrupt, len(payload))
			}
			first = false
			expired = c.Timestamp+int64(binary.BigEndian.Uint64(payload)) < v.now // overflows as in HBase
		}
		t = t[2+n:]
	}
	return expired, nil
}

// Rules decide which cells of one family a Scan returns. They are for readers
// of a raw [Scan] that need to know which cells are, or would be, visible. They
// are applied to the cells of one row after another in the order of the scan,
// and are not safe for concurrent use.
type Rules struct{ v visible }

// Rules returns the rules of a scan without Raw. Versions, Now and the family's
// descriptor have the same meaning as in a scan; Now must be set. hidden are
// timestamps that count as deleted, as if every row had a DeleteFamilyVersion
// for them.
func (f Family) Rules(v View, hidden ...int64) *Rules {
	r := &Rules{newVisible(f, v.Versions, false, v.Now.UnixMilli())}
	r.v.hidden = hidden
	return r
}

// Row begins a row.
func (r *Rules) Row() { r.v.row() }

// Shows reports whether the next cell of the family in the row is visible.
func (r *Rules) Shows(c *hfile.Cell) (bool, error) { return r.v.shows(c) }
