package verify

import (
	"bytes"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// threeRegions returns the regions [, d), [d, m) and [m, ).
func threeRegions() []loader.Region {
	return []loader.Region{{Encoded: "r1", End: []byte("d")}, {Encoded: "r2", Start: []byte("d"), End: []byte("m")}, {Encoded: "r3", Start: []byte("m")}}
}

func fileOf(first, last string) loader.HFile {
	return loader.HFile{Family: "f", Path: "/d/f/x", First: []byte(first), Last: []byte(last), FileID: 7}
}

// TestServedFileIsWhereItsRowsAre checks that a file in the directory of a region is served by it if its first and its last row are in the region.
func TestServedFileIsWhereItsRowsAre(t *testing.T) {
	v := &survey{regions: threeRegions()}
	for _, tt := range []struct {
		first, last string
		served      bool
		want        fileState
	}{
		{"d", "lz", true, stateServed}, {"d", "d", true, stateServed}, {"d", "lz", false, stateCompacted},
		{"c", "e", true, stateElsewhere}, {"e", "m", true, stateElsewhere}, {"a", "z", true, stateElsewhere}, {"n", "z", true, stateElsewhere}, {"e", "m", false, stateElsewhere},
	} {
		if got := v.inRegion(fileOf(tt.first, tt.last), storedFile{region: "r2", served: tt.served}); got != tt.want {
			t.Errorf("rows %s to %s in the region d to m, served %t: state %d, not %d", tt.first, tt.last, tt.served, got, tt.want)
		}
	}
}

// TestSplitFileNeedsAllItsReferences checks that after a split each region that has rows of a file must have a reference to it. A plain
// oracle compares every row.
func TestSplitFileNeedsAllItsReferences(t *testing.T) {
	const rows = "abcdefghijklmnopqrstuvwxyz"
	reference := "x.0123456789abcdef0123456789abcdef"
	at := storedFile{region: "0123456789abcdef0123456789abcdef", path: "/hbase/data/default/t/0123456789abcdef0123456789abcdef/f/x"}
	for from := range rows {
		for to := from; to < len(rows); to++ {
			f := fileOf(rows[from:from+1], rows[to:to+1])
			for have := range 8 {
				v := &survey{regions: threeRegions(), served: map[string][]string{}}
				want := true
				for i, r := range v.regions {
					if have&(1<<i) != 0 {
						v.served[r.Encoded+"/f"] = []string{"other", reference}
						continue
					}
					v.served[r.Encoded+"/f"] = []string{"other"}
					for at := from; at <= to; at++ {
						want = want && !r.Contains([]byte(rows[at:at+1]))
					}
				}
				if got := v.referred(f, at); got != want {
					t.Fatalf("a file of rows %s to %s, references in regions %03b: %t", f.First, f.Last, have, got)
				}
			}
		}
	}
	if (&survey{}).referred(fileOf("a", "b"), at) {
		t.Error("a file is referred to by no region at all")
	}
}

func TestFileHoldsTheRowsBetweenItsEnds(t *testing.T) {
	f := &foundFile{file: fileOf("d", "m")}
	for row, want := range map[string]bool{"": false, "c": false, "d": true, "d\x00": true, "l": true, "m": true, "m\x00": false, "z": false} {
		if got := f.holds([]byte(row)); got != want {
			t.Errorf("a file of rows d to m has row %q: %t", row, got)
		}
	}
}

// TestPartsOfAScanAreTheWhole checks that joining the rows of several parts of a scan gives the same result as one part with all rows.
func TestPartsOfAScanAreTheWhole(t *testing.T) {
	m := &manifest.Manifest{Wide: true, Timestamp: 5}
	r := testcheck.Rand(t)
	for range 50 {
		all, parts := newStoredRows(m), make([]*storedRows, 3)
		for i := range parts {
			parts[i] = newStoredRows(m)
		}
		var undeleted manifest.Digest
		judge := NewRows(m)
		for range 20 {
			row, h := loader.Row{Key: []byte{byte(r.IntN(256))}}, loader.Hidden{Newer: r.IntN(2)}
			for range 1 + r.IntN(3) {
				row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte{byte('a' + len(row.Cells))}, Value: bytes.Repeat([]byte("v"), r.IntN(3)), Timestamp: 5})
			}
			left := row
			if h.Deleted = r.IntN(len(row.Cells) + 1); h.Deleted > 0 {
				left.Cells = row.Cells[h.Deleted:]
				h.Undeleted = left.Cells
			}
			if len(left.Cells) > 0 {
				testcheck.Must(t, judge.Add(left))
			}
			for _, to := range []*storedRows{all, parts[r.IntN(len(parts))]} {
				testcheck.Must(t, to.add(loader.Row{Key: row.Key, Cells: row.Cells}, h))
			}
		}
		undeleted = judge.Digest()
		sum := &storedRows{}
		for _, p := range parts {
			sum.join(p)
		}
		if sum.all != all.all || sum.undeleted != all.undeleted || sum.masked != all.masked || sum.maskedByLeft != all.maskedByLeft {
			t.Fatalf("three parts give %+v, one gives %+v", sum, all)
		}
		if sum.undeleted != undeleted {
			t.Fatalf("undeleted are %s, not %s", sum.undeleted, undeleted)
		}
		if got, _, err := sum.choose(undeleted); err != nil || got != undeleted {
			t.Fatalf("chosen are %s, %v, not the undeleted rows %s", got, err, undeleted)
		}
		if sum.masked == (result.Masked{}) {
			t.Fatal("no row was masked: the test shows nothing")
		}
	}
}
