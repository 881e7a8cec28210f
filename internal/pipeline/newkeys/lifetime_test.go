package newkeys

import (
	"encoding/binary"
	"math"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// TestLifetime checks that the first time-to-live tag of a cell shortens the TTL of its family, and that further ones do not count, as in HBase.
func TestLifetime(t *testing.T) {
	ttl := func(ms int64) []byte { return binary.BigEndian.AppendUint64([]byte{0, 9, tagTTL}, uint64(ms)) }
	other := []byte{0, 3, 77, 1, 2}
	for _, c := range []struct {
		tags         []byte
		family, want int64
	}{
		{nil, 500, 500}, {other, 500, 500},
		{ttl(100), 500, 100}, {ttl(900), 500, 500}, {ttl(100), math.MaxInt64, 100},
		{append(other[:5:5], ttl(100)...), 500, 100},
		{append(ttl(300), ttl(100)...), 500, 300}, {append(ttl(900), ttl(100)...), 500, 500},
		{ttl(-1), 500, 500}, {ttl(100)[:8], 500, 500},
	} {
		if got := lifetime(c.family, c.tags); got != c.want {
			t.Errorf("%x in a family of %d ms: %d ms, want %d", c.tags, c.family, got, c.want)
		}
	}
}

// TestExpiryOfMinVersions checks that the versions of a column that MIN_VERSIONS keeps never expire, and that those after them do. Were the first ones
// counted, verification would take a table that lacks cells for one whose cells have expired.
func TestExpiryOfMinVersions(t *testing.T) {
	cell := func(family, qualifier string, stamp int64) hfile.Cell {
		return testsnapshot.Put("r", family, qualifier, stamp, "v")
	}
	for name, c := range map[string]struct {
		least int
		cells []hfile.Cell
		want  int64 // when the first cell expires
	}{
		"without it":                   {0, []hfile.Cell{cell("f", "a", 20), cell("f", "b", 10)}, 110},
		"one version of each":          {1, []hfile.Cell{cell("f", "a", 20), cell("f", "b", 10)}, 0},
		"a second version":             {1, []hfile.Cell{cell("f", "a", 20), cell("f", "a", 15), cell("f", "b", 10)}, 115},
		"a third version":              {2, []hfile.Cell{cell("f", "a", 20), cell("f", "a", 15), cell("f", "a", 10)}, 110},
		"the column of another family": {1, []hfile.Cell{cell("f", "a", 20), cell("g", "a", 10)}, 0},
	} {
		of := func(name string) snapshot.Family { return snapshot.Family{Name: name, TTL: 100, MinVersions: c.least} }
		names := &columnNames{}
		p := packer{names: newColumnGuess(names)}
		d := &decoder{families: []snapshot.Family{of("f"), of("g")}, earliest: math.MaxInt64}
		for range 2 { // equal rows: each begins its columns again
			p.begin()
			for _, x := range c.cells {
				p.add(map[string]int{"f": 0, "g": 1}[string(x.Family)], &x)
			}
			d.names = names.all()
			testcheck.Must(t, d.Row(p.cells, func(int, *hfile.Cell) error { return nil }))
		}
		if _, times := d.Total(); times.Expires != c.want {
			t.Errorf("%s: expires at %d, want %d", name, times.Expires, c.want)
		}
	}
}
