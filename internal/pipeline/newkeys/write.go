package newkeys

import (
	"bytes"
	"encoding/binary"
	"math"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
)

// Build returns the plan in the form that the build's writers use.
func (p *Plan) Build(s *snapshot.Snapshot) *cells.Plan {
	b := cells.NewPackedPlan(p.Table, p.Key, p.Families, p.Ranges, p.Now.UnixMilli(), p.Duplicates, cells.Packed{FileName: p.fileName,
		Decoder: func(notes string) cells.RowDecoder {
			if p.Divided != nil {
				notes = p.Divided.Columns
			}
			return newDecoder(s.Families, notes)
		},
		Locate: (&reader{snap: s, view: p.view(), plan: p, parts: p.parts(s)}).locate})
	b.Near = p.Near
	return b
}

func newDecoder(families []snapshot.Family, notes string) *decoder {
	names, err := parseNames(notes)
	return &decoder{families: families, names: names, err: err, earliest: math.MaxInt64}
}

// decoder unpacks the rows of a region, and computes their sum.
type decoder struct {
	families []snapshot.Family
	names    []column
	err      error  // of parsing the names
	cells    packed // of the current row
	hash     RowHash

	versions  int // of the current column, up to the current cell; counted in families that keep some past their TTL
	family    int
	qualifier []byte

	earliest, latest int64 // timestamps
	expires          int64 // when the first cell expires; 0: none does
}

// Row implements [build.RowDecoder].
func (d *decoder) Row(payload []byte, add func(family int, c *hfile.Cell) error) error {
	d.cells = packed{rest: payload, names: d.names, err: d.err}
	cells := &d.cells
	d.versions = 0
	for cells.next() {
		if cells.family >= len(d.families) {
			cells.damaged()
			break
		}
		c := &cells.cell
		if err := add(cells.family, c); err != nil {
			return err
		}
		d.hash.Add(c.Family, c.Qualifier, c.Timestamp, c.Value)
		d.time(cells.family, c)
	}
	d.hash.End()
	return cells.err
}

// time records the timestamp of a cell, and when it expires. The first MIN_VERSIONS versions of a column outlive the family's TTL.
func (d *decoder) time(family int, c *hfile.Cell) {
	d.earliest, d.latest = min(d.earliest, c.Timestamp), max(d.latest, c.Timestamp)
	ttl := d.families[family].TTL
	if least := d.families[family].MinVersions; least > 0 {
		if d.versions == 0 || d.family != family || !bytes.Equal(d.qualifier, c.Qualifier) {
			d.versions, d.family, d.qualifier = 0, family, c.Qualifier
		}
		if d.versions++; d.versions <= least {
			ttl = math.MaxInt64
		}
	}
	if life := lifetime(ttl, c.Tags); life < math.MaxInt64-c.Timestamp && (d.expires == 0 || c.Timestamp+life < d.expires) {
		d.expires = c.Timestamp + life
	}
}

// Total implements [build.RowDecoder].
func (d *decoder) Total() (manifest.RowSum, *manifest.CellTimes) {
	if d.earliest > d.latest {
		return d.hash.Sum, nil
	}
	return d.hash.Sum, &manifest.CellTimes{Min: d.earliest, Max: d.latest, Expires: d.expires}
}

// tagTTL is HBase's TagType.TTL_TAG_TYPE (2.6.4): its value is 8 bytes of
// milliseconds, counted from the cell's timestamp. The first one of a cell counts.
const tagTTL = 8

// lifetime returns the shorter of a family's TTL and a cell's own, in milliseconds.
func lifetime(family int64, tags []byte) int64 {
	for len(tags) > 3 {
		n := 2 + int(binary.BigEndian.Uint16(tags))
		if n > len(tags) {
			break
		}
		if tags[2] == tagTTL && n == 3+8 {
			if own := int64(binary.BigEndian.Uint64(tags[3:])); own >= 0 {
				family = min(family, own)
			}
			break
		}
		tags = tags[n:]
	}
	return family
}
