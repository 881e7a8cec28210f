package compare

import (
	"maps"
	"testing"
	"time"

	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestRoundTwo checks that the second repair loads only those cells with a later time that the first one has loaded, and that B's delete markers hide: of
// all versions, or of one that has an older one under it. The time is that of B's contents: cells that others write to B later are newer.
func TestRoundTwo(t *testing.T) {
	t.Parallel()
	put := func(row string, stamp int64, value string) hfile.Cell {
		return testsnapshot.Put(row, "f", "q", stamp, value)
	}
	deleted := func(row string, typ hfile.Type, stamp int64) hfile.Cell {
		return hfile.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: stamp, Type: typ}
	}
	x := []hfile.Cell{put("deleted", 900, "v"), put("new", 1000, "v"), put("one version", 900, "v"), put("same", 900, "v"), put("older", 900, "v")}
	y := []hfile.Cell{put("deleted", 900, "v"), deleted("deleted", hfile.DeleteColumn, 1200), put("one version", 900, "v"), deleted("one version", hfile.Delete, 900), put("one version", 500, "old"),
		put("same", 900, "v"), put("older", 1100, "w")}
	table := Side{Table: loader.TableName{Namespace: "default", Qualifier: "t"}}
	for name, c := range map[string]struct {
		a    Side
		done []round
		want map[string]int64
		over bool
	}{
		"the first":           {table, nil, map[string]int64{"deleted": 900, "new": 1000, "one version": 900, "older": 1100}, false},
		"the second":          {table, []round{{read: time.UnixMilli(950)}}, map[string]int64{"deleted": 2000, "new": 1000, "one version": 2000, "older": 1100}, true},
		"after a resumed one": {table, []round{{}}, map[string]int64{"deleted": 900, "new": 1000, "one version": 900, "older": 1100}, false},
		"of a directory":      {Side{Dir: "/d"}, []round{{}}, map[string]int64{"deleted": 2000, "new": 2000, "one version": 2000, "older": 1100}, true},
	} {
		r := testcheck.Rand(t)
		a, b := side(t, r, x), side(t, r, y)
		b.at = time.UnixMilli(2000)
		found := result.Differences{OnlyA: 2, Changed: 2}
		j := &run{req: Request{A: c.a, B: table, Versions: 1, Repair: true}, a: a, b: b, now: time.UnixMilli(2100), result: &result.Comparison{Found: found}}
		j.loaded = j.loadedBefore(c.done)
		got := map[string]int64{}
		cells := cellsOf(t, &repair{req: j.req, found: j})
		for _, c := range cells {
			got[string(c.Row)] = c.Timestamp
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: loaded are %v, want %v", name, got, c.want)
		}
		v := j.req.view(j.now)
		if d := plainly(j.req, columnsOf(x, v), columnsOf(append(cells, y...), v)); c.over != (d.Rows() == 0) {
			t.Errorf("%s: %+v", name, d)
		}
		if stuck := j.stuck(append(c.done, round{Repair: result.Repair{Found: found}, over: j.loaded > 0})); stuck != c.over {
			t.Errorf("%s: stuck %t", name, stuck)
		}
	}
}
