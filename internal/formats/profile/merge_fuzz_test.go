package profile

import (
	"bytes"
	"testing"
)

// FuzzMerge counts values, which are the lines of a text, in two and in three parts, and compares the result with plain
// counts.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("1\n2\n1.0\n-3e5"), uint16(2))
	f.Add([]byte("2017-10-12\n2017/10/12\n\nx"), uint16(1))
	f.Add([]byte("\xff\n日\n0\n00\n-0"), uint16(3))
	f.Add(bytes.Repeat([]byte("1e308\n-1e308\n1e-320\n"), 9), uint16(5))
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		var values []*string
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if len(line) > maxKept {
				return // only its beginning is kept
			}
			if v := string(line); bytes.HasPrefix(line, []byte("~")) {
				values = append(values, nil)
			} else {
				values = append(values, &v)
			}
		}
		if len(values) == 0 {
			return
		}
		at := int(cut) % len(values)
		columns := [][]*string{values}
		p := count(t, columns, []int{at})
		sums := []int64{p.Columns[0].Values, p.Columns[0].Nulls, p.Columns[0].Empty}
		if sums[0]+sums[1]+sums[2] != int64(len(values)) {
			t.Fatal(sums)
		}
		three := count(t, columns, []int{at / 2, at})
		a, b := p.Columns[0], three.Columns[0]
		if a.Kind != b.Kind || a.Min != b.Min || a.Max != b.Max || a.Distinct != b.Distinct {
			t.Fatalf("%+v\n%+v", a, b)
		}
		if c := newPlain(values); int64(len(c.values)) <= MaxValues && a.Distinct != int64(len(c.values)) {
			t.Fatalf("%d different, want %d", a.Distinct, len(c.values))
		}
	})
}
