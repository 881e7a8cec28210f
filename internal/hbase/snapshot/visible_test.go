package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/model/choice"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// testNow is the time of scans in these tests, in milliseconds.
const testNow = 1_000_000

// aged is a cell with the fields that order it among equal cells.
type aged struct {
	hfile.Cell
	sequence int64
	rank     int
	family   int
}

// compareAged compares cells in the order of a merge, field by field.
func compareAged(a, b *aged) int {
	return cmp.Or(bytes.Compare(a.Row, b.Row), cmp.Compare(a.family, b.family), bytes.Compare(a.Qualifier, b.Qualifier),
		cmp.Compare(b.Timestamp, a.Timestamp), cmp.Compare(b.Type, a.Type), cmp.Compare(b.sequence, a.sequence), cmp.Compare(b.rank, a.rank))
}

// listed iterates over the cells of a list.
type listed struct {
	cells []*aged
	at    int
}

func (l *listed) Next() bool        { l.at++; return l.at <= len(l.cells) }
func (l *listed) Cell() *hfile.Cell { return &l.cells[l.at-1].Cell }
func (l *listed) Sequence() int64   { return l.cells[l.at-1].sequence }
func (l *listed) Err() error        { return nil }

// SameRow reports true for some cells only, to test both cases.
func (l *listed) SameRow() bool {
	return l.at > 1 && l.at%2 == 0 && bytes.Equal(l.cells[l.at-1].Row, l.cells[l.at-2].Row)
}

// ttlTag returns a TTL tag, in milliseconds.
func ttlTag(ms int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0, 9, tagTTL}, uint64(ms))
}

// drawCells draws cells of few rows, columns and times, so that many are equal in these.
func drawCells(t *rapid.T, families int) []*aged {
	var all []*aged
	types := []hfile.Type{hfile.Put, hfile.Put, hfile.Put, hfile.Put, hfile.Put, hfile.Delete, hfile.DeleteColumn, hfile.DeleteFamily, hfile.DeleteFamilyVersion}
	for i := range rapid.IntRange(0, 60).Draw(t, "cells") {
		c := &aged{sequence: rapid.Int64Range(0, 3).Draw(t, "sequence"), rank: rapid.IntRange(0, 3).Draw(t, "rank"),
			family: rapid.IntRange(0, families-1).Draw(t, "family")}
		c.Row = []byte{'a' + byte(rapid.IntRange(0, 2).Draw(t, "row"))}
		c.Family = []byte{'f' + byte(c.family)}
		c.Qualifier = []byte("xy")[:rapid.IntRange(0, 2).Draw(t, "qualifier")]
		c.Timestamp = testNow - rapid.SampledFrom([]int64{0, 1, 2, 99, 100, 101, 200}).Draw(t, "age")
		c.Type = rapid.SampledFrom(types).Draw(t, "type")
		if c.Type == hfile.DeleteFamily || c.Type == hfile.DeleteFamilyVersion {
			c.Qualifier = nil
		}
		if rapid.IntRange(0, 4).Draw(t, "tagged") == 0 {
			c.Tags = append([]byte{0, 2, 77, 1}, ttlTag(rapid.SampledFrom([]int64{0, 1, 100, 1000}).Draw(t, "lifetime"))...)
		}
		c.Value = fmt.Append(nil, i)
		all = append(all, c)
	}
	return all
}

// plainScan returns the cells of a Scan, computed directly from the definitions of deletes and versions.
func plainScan(all []*aged, families []Family, v View) []*aged {
	live := slices.DeleteFunc(slices.Clone(all), func(c *aged) bool {
		return len(c.Tags) > 0 && c.Timestamp+int64(binary.BigEndian.Uint64(c.Tags[len(c.Tags)-8:])) < testNow
	})
	slices.SortStableFunc(live, compareAged)
	same := func(a, b *aged) bool { return bytes.Equal(a.Row, b.Row) && a.family == b.family }
	column := func(a, b *aged) bool { return same(a, b) && bytes.Equal(a.Qualifier, b.Qualifier) }
	hidden := func(c *aged) bool {
		return slices.ContainsFunc(live, func(m *aged) bool {
			if v.Choice.Until > 0 && m.Timestamp >= v.Choice.Until && families[c.family].KeepDeleted {
				return false
			}
			switch m.Type {
			case hfile.DeleteFamily:
				return same(m, c) && c.Timestamp <= m.Timestamp
			case hfile.DeleteFamilyVersion:
				return same(m, c) && c.Timestamp == m.Timestamp
			case hfile.DeleteColumn:
				return column(m, c) && c.Timestamp <= m.Timestamp
			case hfile.Delete:
				return column(m, c) && c.Timestamp == m.Timestamp
			}
			return false
		})
	}
	var given []*aged
	for i, c := range live {
		if !v.Raw && (c.Type != hfile.Put || hidden(c)) || c.Timestamp < v.Choice.Since || v.Choice.Until > 0 && c.Timestamp >= v.Choice.Until {
			continue
		}
		newer, again := 0, false // puts of the column that count before this one
		for _, g := range live[:i] {
			if !column(g, c) || !v.Raw && (g.Type != hfile.Put || hidden(g)) {
				continue
			}
			again = again || g.Timestamp == c.Timestamp && g.Type == c.Type
		}
		for _, g := range given {
			if column(g, c) && g.Type == hfile.Put {
				newer++
			}
		}
		f := families[c.family]
		most := f.Versions
		if v.Versions > 0 {
			most = min(most, v.Versions)
		}
		if v.Raw {
			most = cmp.Or(v.Versions, math.MaxInt)
		}
		expired := !v.Raw && f.TTL != math.MaxInt64 && c.Timestamp < testNow-f.TTL && newer >= f.MinVersions
		if c.Type != hfile.Put {
			newer-- // a marker does not count as a version
		}
		if !again && newer < most && !expired {
			given = append(given, c)
		}
	}
	return given
}

// TestVisibleAsDefined compares merge and rules with the plain definition, for random cells in random files.
func TestVisibleAsDefined(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		families := []Family{{Name: "f", Versions: 1, TTL: math.MaxInt64}, {Name: "g"}}
		g := &families[1]
		g.Versions = rapid.IntRange(1, 4).Draw(t, "versions")
		g.MinVersions = rapid.IntRange(0, 3).Draw(t, "least")
		g.TTL = rapid.SampledFrom([]int64{math.MaxInt64, 100, 1}).Draw(t, "ttl")
		v := View{Versions: rapid.IntRange(0, 3).Draw(t, "asked"), Raw: rapid.Bool().Draw(t, "raw")}
		g.KeepDeleted = rapid.Bool().Draw(t, "keeps deleted cells")
		v.Choice.Since = rapid.SampledFrom([]int64{0, 0, testNow - 100, testNow - 1}).Draw(t, "since")
		v.Choice.Until = rapid.SampledFrom([]int64{0, 0, testNow - 99, testNow}).Draw(t, "until")
		if rapid.Bool().Draw(t, "columns") {
			v.Choice.Columns = []choice.Column{{Family: "f"}, {Family: "g", Qualifier: []byte("x")}}
		}
		all := drawCells(t, 2)
		if v.Raw && v.Versions > 0 {
			v.Versions = 0 // the definition does not cover how markers and versions share a limit
		}
		files := make(map[[2]int][]*aged)
		for _, c := range all {
			key := [2]int{c.family, c.rank}
			files[key] = append(files[key], c)
		}
		var places []place
		for key, cells := range files {
			slices.SortStableFunc(cells, compareAged)
			places = append(places, place{cells: &listed{cells: cells}, family: key[0], rank: key[1]})
		}
		m, err := newMerge(places)
		if err != nil {
			t.Fatal(err)
		}
		sc := &Scan{ctx: context.Background(), region: &Region{}, merge: m, choice: v.Choice}
		for i, f := range families {
			sc.rules = append(sc.rules, newVisible(f, v.Versions, v.Raw, testNow))
			sc.rules[i].between(v.Choice.Since, v.Choice.Until)
		}
		want := slices.DeleteFunc(plainScan(all, families, v), func(c *aged) bool { return !v.Choice.Has(c.Family, c.Qualifier) })
		for i := 0; sc.Next(); i++ {
			if i >= len(want) || !bytes.Equal(sc.Cell().Value, want[i].Value) {
				t.Fatalf("cell %d of %d: %s %s:%s %d %s", i, len(want), sc.cell.Row, sc.cell.Family, sc.cell.Qualifier, sc.cell.Timestamp, sc.cell.Type)
			}
			if first := i == 0 || !bytes.Equal(want[i].Row, want[i-1].Row); first != sc.NewRow() {
				t.Fatalf("cell %d begins a row: %t", i, sc.NewRow())
			}
		}
		if st := sc.Stats(); sc.Err() != nil || int(st.Cells) != len(want) || int(st.Read) != len(all) {
			t.Fatalf("%v, %+v, not %d of %d cells", sc.Err(), st, len(want), len(all))
		}
	})
}

// TestNewestBesidesTheChoice checks that a scan returns the newest cell of each column in addition to the chosen cells, and reports which is which.
func TestNewestBesidesTheChoice(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		families := []Family{{Name: "f", Versions: rapid.IntRange(1, 3).Draw(t, "versions"), TTL: math.MaxInt64, KeepDeleted: rapid.Bool().Draw(t, "keeps deleted cells")}}
		c := choice.Choice{Since: rapid.SampledFrom([]int64{0, testNow - 100}).Draw(t, "since"), Until: rapid.SampledFrom([]int64{0, testNow - 1}).Draw(t, "until")}
		c.Columns = []choice.Column{{Family: "f", Qualifier: []byte("x")}}
		all := drawCells(t, 1)
		cells := slices.Clone(all)
		slices.SortStableFunc(cells, compareAged)
		m, err := newMerge([]place{{cells: &listed{cells: cells}}})
		if err != nil {
			t.Fatal(err)
		}
		sc := &Scan{ctx: context.Background(), region: &Region{}, merge: m, choice: c, rules: []visible{newVisible(families[0], 0, false, testNow)}, heads: []visible{newVisible(families[0], 1, false, testNow)}}
		sc.rules[0].between(c.Since, c.Until)
		chosen := slices.DeleteFunc(plainScan(all, families, View{Choice: c}), func(x *aged) bool { return !c.Has(x.Family, x.Qualifier) })
		newest := plainScan(all, families, View{Versions: 1})
		next := func(want *[]*aged, is bool) {
			if is && (len(*want) == 0 || !bytes.Equal((*want)[0].Value, sc.Cell().Value)) {
				t.Fatalf("%s is not the next of %d", sc.Cell().Value, len(*want))
			}
			if is {
				*want = (*want)[1:]
			}
		}
		for sc.Next() {
			next(&chosen, sc.Chosen())
			next(&newest, sc.Newest())
		}
		if sc.Err() != nil || len(chosen)+len(newest) > 0 {
			t.Fatalf("%v, %d and %d are left", sc.Err(), len(chosen), len(newest))
		}
	})
}

// TestTagsThatAreRefused checks the errors for cells with unsupported or damaged tags, and for an unknown type of cell.
func TestTagsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		tags []byte
		want error
	}{
		{[]byte{0, 2, tagACL, 1}, ErrUnsupported}, {[]byte{0, 2, tagVisibility, 1}, ErrUnsupported},
		{[]byte{0, 2, tagVisibilityFormat, 1}, ErrUnsupported}, {append(ttlTag(1), 0, 2, tagMOB, 1), ErrUnsupported},
		{[]byte{0, 2}, hfile.ErrCorrupt}, {[]byte{0, 0, 7}, hfile.ErrCorrupt}, {[]byte{0, 9, 7}, hfile.ErrCorrupt},
		{[]byte{0, 2, tagTTL, 1}, hfile.ErrCorrupt}, {[]byte{0, 2, 77, 1}, nil},
		{append(ttlTag(math.MaxInt32), 0, 2, tagTTL, 1), nil},
	} {
		v := newVisible(Family{Versions: 1, TTL: math.MaxInt64}, 0, false, testNow)
		_, err := v.shows(&hfile.Cell{Type: hfile.Put, Tags: c.tags})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%x: %v", c.tags, err)
		}
	}
	v := newVisible(Family{Versions: 1}, 0, false, testNow)
	if _, err := v.shows(&hfile.Cell{Type: 5}); !errors.Is(err, hfile.ErrCorrupt) {
		t.Error(err)
	}
}
