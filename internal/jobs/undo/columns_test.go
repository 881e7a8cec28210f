package undo

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// byColumn returns the cells that a reader of the newest version sees, by column: the timestamp and the value.
func byColumn(seen map[string]string) map[string][2]string {
	all := map[string][2]string{}
	for key, value := range seen {
		at := strings.LastIndexByte(key, ' ')
		all[key[:at]] = [2]string{key[at+1:], value}
	}
	return all
}

// lossOfCells computes the result of lossBy in another way: from the cells before the load, and those now with and without the load's.
func lossOfCells(before, with, without map[string]string, kept bool) result.Restore {
	var r result.Restore
	b, w, o := byColumn(before), byColumn(with), byColumn(without)
	rows := map[string]bool{}
	lost := func(n *int64, column string) { *n++; rows[column[:1]] = true }
	for column := range w {
		if w[column][0] == "200" {
			r.Removed++
		}
	}
	for column, was := range b {
		now, seen := o[column]
		own := w[column][0] == "200"
		switch {
		case seen && now == was && own, !seen && own && !kept:
			r.Restored++
		case seen && now == was:
		case !seen, now[0] < was[0]: // of one length
			lost(&r.Deleted, column)
		default:
			lost(&r.Written, column)
		}
	}
	for column := range o {
		if _, was := b[column]; !was {
			lost(&r.Written, column)
		}
	}
	r.Rows = int64(len(rows))
	return r
}

// addCompacted adds files that were not loaded.
func (l *lab) addCompacted(cells []hfile.Cell) {
	for i := range l.Regions {
		for _, family := range l.Families {
			var own []hfile.Cell
			for _, c := range cells {
				if l.RegionOf(c.Row) == i && string(c.Family) == family {
					own = append(own, c)
				}
			}
			if len(own) > 0 { // of two timestamps, unlike a load's
				own = append(own, hfile.Cell{Row: own[0].Row, Family: []byte(family), Timestamp: 1, Type: hfile.DeleteFamilyVersion})
				l.Add(i, family, 0, testsnapshot.HFile(l.t, hfile.Options{}, own...))
			}
		}
	}
}

// TestLossOfRandomTables compares the losses and gains of a restore with a simple computation from all cells, for tables whose load is in files as
// they were loaded, and for those that a compaction has rewritten.
func TestLossOfRandomTables(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		older, written := drawTable(rt)
		later, _ := drawTable(rt)
		has := map[string]bool{}
		for _, c := range older {
			has[testsnapshot.Key(&c)+string(rune(c.Type))] = true
		}
		var all []hfile.Cell
		for _, c := range later {
			if !has[testsnapshot.Key(&c)+string(rune(c.Type))] {
				all = append(all, c)
			}
		}
		before, now := newLab(t, 1, "f", "g"), newLab(t, 1, "f", "g")
		before.Load(1, older...)
		compacted := rapid.Bool().Draw(rt, "compacted")
		others := append(append([]hfile.Cell{}, older...), all...)
		everything := append(append([]hfile.Cell{}, others...), written...)
		if compacted {
			everything = testsnapshot.Compacted(everything, 1, true)
			others = nil
			for _, c := range everything {
				if c.Timestamp != labStamp || c.Type != hfile.Put {
					others = append(others, c)
				}
			}
			now.addCompacted(everything)
		} else {
			now.Load(1, older...)
			now.Load(2, all...)
			now.Load(3, written...)
		}
		got, err := now.of(written).lossBy(t.Context(), before.open(), now.open(), labReading())
		testcheck.Must(t, err)
		seen := testsnapshot.Seen(older, 1)
		want := lossOfCells(seen, testsnapshot.Seen(everything, 1), testsnapshot.Seen(others, 1), !compacted)
		if got.Removed != want.Removed || got.Restored != want.Restored || got.Written != want.Written || got.Deleted != want.Deleted || got.Rows != want.Rows || got.InBefore != 0 {
			rt.Fatalf("lost is %+v, want %+v", got, want)
		}
		if got.Before.Cells != int64(len(seen)) || got.Before.Rows != int64(len(rowsOf(seen))) || got.Versions.Cells != got.Before.Cells {
			rt.Fatalf("before is %s, want %d cells", got.Before, len(seen))
		}
	})
}

// TestLossOfADelete checks that cells that others deleted under a cell of the load count as lost while the files show that no compaction dropped
// them.
func TestLossOfADelete(t *testing.T) {
	cell := func(typ hfile.Type, stamp int64) hfile.Cell {
		return hfile.Cell{Row: []byte("a"), Family: []byte("f"), Qualifier: []byte("p"), Timestamp: stamp, Type: typ, Value: []byte{}}
	}
	older, own, marker := cell(hfile.Put, 100), cell(hfile.Put, labStamp), cell(hfile.DeleteColumn, 150)
	for name, c := range map[string]struct {
		make              func(*lab)
		deleted, restored int64
	}{
		"deleted":   {func(l *lab) { l.Load(1, older); l.Load(2, marker); l.Load(3, own) }, 1, 0},
		"compacted": {func(l *lab) { l.addCompacted([]hfile.Cell{own}) }, 0, 1},
		"neither":   {func(l *lab) { l.Load(1, older); l.Load(3, own) }, 0, 1},
	} {
		before, now := newLab(t, 1, "f"), newLab(t, 1, "f")
		before.Load(1, older)
		c.make(now)
		got, err := now.of([]hfile.Cell{own}).lossBy(t.Context(), before.open(), now.open(), labReading())
		testcheck.Must(t, err)
		if got.Deleted != c.deleted || got.Restored != c.restored || got.Removed != 1 || got.Written != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
