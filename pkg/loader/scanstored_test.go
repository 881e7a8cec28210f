package loader

import (
	"testing"

	"bulkload/pkg/hfile"
)

// TestHide checks which cells of a row readers see, by the rules of delete markers.
func TestHide(t *testing.T) {
	at := func(q string, ts int64, kind hfile.Type) Cell {
		return Cell{Family: []byte("f"), Qualifier: []byte(q), Timestamp: ts, Type: kind}
	}
	put := func(q string, ts int64) Cell { return at(q, ts, hfile.Put) }
	for name, c := range map[string]struct {
		own, newer         []Cell
		hidden, deleted, n int // cells with newer versions, deleted cells, and all remaining cells
	}{
		"nothing":                              {own: []Cell{put("a", 5), put("b", 5)}, n: 2},
		"a newer cell":                         {own: []Cell{put("a", 5), put("b", 5)}, newer: []Cell{put("b", 9)}, hidden: 1, n: 2},
		"a newer cell of another column":       {own: []Cell{put("a", 5)}, newer: []Cell{put("b", 9)}, n: 1},
		"a newer cell that was deleted":        {own: []Cell{put("a", 5)}, newer: []Cell{at("a", 9, hfile.Delete), put("a", 9)}, n: 1},
		"a deleted cell above another":         {own: []Cell{put("a", 5)}, newer: []Cell{at("a", 9, hfile.Delete), put("a", 9), put("a", 7)}, hidden: 1, n: 1},
		"its column deleted later":             {own: []Cell{put("a", 5), put("b", 5)}, newer: []Cell{at("a", 9, hfile.DeleteColumn)}, deleted: 1, n: 2},
		"its column deleted and written again": {own: []Cell{put("a", 5)}, newer: []Cell{put("a", 10), at("a", 9, hfile.DeleteColumn)}, hidden: 1, n: 1},
		"its family deleted later":             {own: []Cell{put("a", 5), put("b", 5)}, newer: []Cell{at("", 9, hfile.DeleteFamily)}, deleted: 2, n: 2},
		"another version deleted":              {own: []Cell{put("a", 5)}, newer: []Cell{at("a", 9, hfile.Delete)}, n: 1},
		"its version deleted":                  {own: []Cell{at("a", 5, hfile.Delete), put("a", 5), put("b", 5)}, deleted: 1, n: 2},
		"its column deleted at its time":       {own: []Cell{at("a", 5, hfile.DeleteColumn), put("a", 5)}, deleted: 1, n: 1},
		"its family's version deleted":         {own: []Cell{at("", 5, hfile.DeleteFamilyVersion), put("a", 5)}, deleted: 1, n: 1},
		"another family's version deleted":     {own: []Cell{put("a", 5)}, newer: []Cell{at("", 9, hfile.DeleteFamilyVersion)}, n: 1},
		"only markers":                         {own: []Cell{at("a", 5, hfile.DeleteColumn)}, n: 0},
	} {
		t.Run(name, func(t *testing.T) {
			cells, h := hide(c.own, c.newer)
			if len(cells) != c.n || h.Newer != c.hidden || h.Deleted != c.deleted {
				t.Errorf("%d cells, %+v", len(cells), h)
			}
			if c.deleted > 0 && len(h.Undeleted) != c.n-c.deleted || c.deleted == 0 && c.hidden == 0 && h.Undeleted != nil {
				t.Errorf("%d of %d cells are not deleted", len(h.Undeleted), c.n)
			}
		})
	}
}
