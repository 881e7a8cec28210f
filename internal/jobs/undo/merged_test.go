package undo

import (
	"testing"

	"bulkload/internal/hbase/snapshot"
)

// TestMerged checks which regions are recognized as merged ones.
func TestMerged(t *testing.T) {
	list := func(bounds ...string) (regions []snapshot.Region) { // encoded name, start, end
		for i := 0; i < len(bounds); i += 3 {
			regions = append(regions, snapshot.Region{Encoded: bounds[i], Start: []byte(bounds[i+1]), End: []byte(bounds[i+2])})
		}
		return regions
	}
	before := list("a", "", "d", "b", "d", "h", "c", "h", "")
	for name, c := range map[string]struct {
		now  []snapshot.Region
		want bool
	}{
		"the same":            {before, false},
		"split":               {list("a1", "", "b", "a2", "b", "d", "b", "d", "h", "c1", "h", "m", "c2", "m", ""), false},
		"merged":              {list("ab", "", "h", "c", "h", ""), true},
		"the last two merged": {list("a", "", "d", "bc", "d", ""), true},
		"all merged":          {list("abc", "", ""), true},
		"split and merged":    {list("a", "", "d", "b2", "d", "h", "c", "h", ""), true},
		"parts of two merged": {list("a1", "", "b", "a2b1", "b", "f", "b2", "f", "h", "c", "h", ""), true},
	} {
		if got := merged(before, c.now); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
