package compare

import (
	"maps"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
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

// TestRepairUncovers checks that repairs continue while each of them uncovers an older version of B, which the counts of differences do not show: until the
// sides are equal, and not once a round changes nothing.
func TestRepairUncovers(t *testing.T) {
	t.Parallel()
	put := func(row string, stamp int64, value string) hfile.Cell {
		return testsnapshot.Put(row, "f", "q", stamp, value)
	}
	other := put("other", 500, "o")
	table := Side{Table: loader.TableName{Namespace: "default", Qualifier: "t"}}
	for name, c := range map[string]struct {
		x, y  []hfile.Cell
		req   Request
		stuck bool // they end without success
		want  int
	}{
		"timestamps, two newer in B": {[]hfile.Cell{put("r", 100, "v")}, []hfile.Cell{put("r", 300, "x"), put("r", 200, "w"), put("r", 100, "v")}, Request{Timestamps: true}, false, 2},
		"since, three only in B":     {[]hfile.Cell{other}, []hfile.Cell{other, put("r", 300, "x"), put("r", 200, "w"), put("r", 150, "u"), put("r", 100, "v")}, Request{Choice: choice.Choice{Since: 120}}, false, 3},
		"until, two only in B":       {[]hfile.Cell{other}, []hfile.Cell{other, put("r", 300, "x"), put("r", 200, "w")}, Request{Choice: choice.Choice{Until: 1000}}, false, 2},
		"until, four only in B":      {[]hfile.Cell{other}, []hfile.Cell{other, put("r", 300, "x"), put("r", 200, "w"), put("r", 150, "u"), put("r", 100, "v")}, Request{Choice: choice.Choice{Until: 1000}}, true, 3},
		"a marker in B":              {[]hfile.Cell{put("r", 100, "v")}, []hfile.Cell{{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 400, Type: hfile.DeleteColumn}}, Request{Timestamps: true}, true, 1},
	} {
		req, y := c.req, c.y
		req.A, req.B, req.Versions, req.Repair = table, table, 1, true
		var done []round
		for {
			r := testcheck.Rand(t)
			a, b := side(t, r, c.x), side(t, r, y)
			now := time.UnixMilli(int64(2000 * (len(done) + 1)))
			a.at, b.at = now, now
			j := &run{req: req, a: a, b: b, now: now.Add(100 * time.Millisecond), dir: t.TempDir(), ranges: []keyrange.Range{{}}, result: &result.Comparison{}}
			f, err := j.compareRange(t.Context(), 0)
			testcheck.Must(t, err)
			if f.Rows() == 0 {
				break
			}
			if j.result.Found, j.shown = f.Differences, f.ShownB; j.stuck(done) {
				if !c.stuck {
					t.Errorf("%s: gives up after %d repairs", name, len(done))
				}
				if len(done) < repairs {
					break
				}
				if err := j.repair(t.Context(), nil, done); err == nil || !strings.Contains(err.Error(), "uncovered older versions, or others write: repeat") {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			j.loaded = j.loadedBefore(done)
			y = append(cellsOf(t, &repair{req: req, found: j}), y...)
			done = append(done, round{Repair: result.Repair{Found: j.result.Found}, shown: j.shown, read: a.at, over: j.loaded > 0})
		}
		if len(done) != c.want {
			t.Errorf("%s: %d repairs, want %d", name, len(done), c.want)
		}
	}
}
