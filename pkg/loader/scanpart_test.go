package loader

import "testing"

// TestPartsOfAScan checks that the parts of a scan in the regions of a table are together the whole scan, by testing each row.
func TestPartsOfAScan(t *testing.T) {
	rows := []string{"", "a", "b", "b0", "c", "d", "d0", "e", "f"}
	between := func(row string, start, stop []byte) bool {
		return row >= string(start) && (len(stop) == 0 || row < string(stop))
	}
	regions := regionsAt("b", "d")
	for _, start := range rows {
		for _, stop := range rows {
			if stop != "" && stop <= start {
				continue
			}
			req := ScanRequest{Start: []byte(start), Stop: []byte(stop), MaxRows: 7, KeysOnly: true}
			for _, row := range rows[1:] {
				read := 0
				for _, region := range regions {
					part, some := req.within(region)
					if !some {
						continue
					}
					if part.MaxRows != 7 || !part.KeysOnly {
						t.Fatalf("the part is another request: %+v", part)
					}
					if between(row, part.Start, part.Stop) {
						read++
						if !region.Contains([]byte(row)) {
							t.Errorf("rows %q to %q: %q is read of region %s", start, stop, row, region)
						}
					}
				}
				want := 0
				if between(row, req.Start, req.Stop) {
					want = 1
				}
				if read != want {
					t.Errorf("rows %q to %q: row %q is read %d times", start, stop, row, read)
				}
			}
		}
	}
}
