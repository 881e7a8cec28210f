package keyrange

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"

	"pgregory.net/rapid"
)

// TestByValue compares the rows of a range of values with a plain comparison of the values, column by column.
func TestByValue(t *testing.T) {
	exact, widened := 0, 0
	for _, spec := range []string{"a + '|' + b", "a + '+' + b", "hex(a) + '|' + b", "hex(a) + '0' + b", "bytesalt(b, 4) + a + '|' + b", "salt(a, 3) + a + '_' + b", "a + '\x00' + b", "a + '|' + b + '|' + c", "a + '+' + b + '|' + c",
		"md5hex(a) + b + '|' + c", "pad(b, 2) + '|' + a + '|' + c", "substr(a, 0) + '-' + b", "a + '||' + b + '+' + c", "'x' + a + '|' + b", "a + '|'", "a + '|' + longbytes(b) + c"} {
		k := parseKey(t, spec)
		keys, err := keygen.Compile(k.Spec, keygen.Options{Regions: 1})
		testcheck.Must(t, err)
		columns := k.Columns()
		value := func(t *rapid.T, column string) string {
			if strings.Contains(spec, "("+column+", 2)") || strings.Contains(spec, "longbytes("+column) {
				return rapid.StringMatching("[0-9]").Draw(t, column)
			}
			return rapid.StringOfN(rapid.SampledFrom([]rune("1 ~")), 1, 4, -1).Draw(t, column)
		}
		tuple := func(t *rapid.T) (row []string) {
			for _, c := range columns {
				row = append(row, value(t, c))
			}
			return row
		}
		testcheck.Check(t, func(t *rapid.T) {
			from, to := tuple(t)[:rapid.IntRange(0, len(columns)).Draw(t, "from")], tuple(t)[:rapid.IntRange(0, len(columns)).Draw(t, "to")]
			if len(from) > 0 && len(to) > 0 && (rapid.Bool().Draw(t, "same first") || strings.Contains(spec, "md5hex")) {
				to[0] = from[0]
			}
			r, v, err := k.ByValue(1, from, to)
			if _, refused := errors.AsType[*NoRangeError](err); refused {
				return
			}
			if err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "no row is in the range")) {
				t.Fatalf("%s from %q to %q: %v", spec, from, to, err)
			}
			switch {
			case v != nil:
				widened++
			case err == nil:
				exact++
			}
			for range 12 {
				row := tuple(t)
				for i := range row {
					if near := rapid.SampledFrom([][]string{nil, from, to}).Draw(t, "near"); i < len(near) {
						row[i] = near[i][:rapid.IntRange(1, len(near[i])).Draw(t, "cut")]
					}
				}
				fields := func(names []string) (list [][]byte) {
					for _, c := range names {
						list = append(list, []byte(row[slices.Index(columns, c)]))
					}
					return list
				}
				key, keyErr := keys.Append(nil, fields(keys.Columns()))
				if keyErr != nil {
					t.Fatal(keyErr)
				}
				want := (len(from) == 0 || slices.Compare(row, from) >= 0) && (len(to) == 0 || slices.Compare(row, to) < 0)
				got := err == nil && r.Has(key)
				if want && !got {
					t.Fatalf("%s from %q to %q: row %q, key %q is not read: %v", spec, from, to, row, key, err)
				}
				if want && slices.ContainsFunc(r.Heads, func(head []byte) bool { return r.Past(head, key) != nil }) {
					t.Fatalf("%s from %q to %q: row %q, key %q is in a gap of %q", spec, from, to, row, key, r.Gaps)
				}
				if got && v != nil {
					values := fields(v.Columns())
					got, _ = v.Has(values)
					values[len(values)-1] = nil
					if _, known := v.Has(values); known {
						t.Fatalf("%s: a row without %s is compared", spec, v.Columns())
					}
				}
				if got != want {
					t.Fatalf("%s from %q to %q: row %q, key %q: in the range %t, want %t (by value %t)", spec, from, to, row, key, got, want, v != nil)
				}
			}
		})
	}
	if exact < 20 || widened < 20 {
		t.Errorf("%d ranges of keys, and %d of values", exact, widened)
	}
}

// TestGapsOfValues checks which parts of a widened range have no rows of the range.
func TestGapsOfValues(t *testing.T) {
	for _, c := range []struct{ spec, from, to, gaps string }{
		{"a + '|' + b", "R1", "R10", "R10-R1|"}, {"a + '|' + b", "R1", "R100", "R100-R10| R10}-R1|"}, {"a + '|' + b", "R1", "R2", ""}, {"a + '|' + b", "R1", "R10,5", "R10|5-R1|"},
		{"a + '|' + b", "", "R10", "R10-R1| R1}-R|"}, {"salt(a, 3) + a + '|' + b", "R1", "R10", "R10-R1|"}, {"a + '+' + b", "R1", "R10", ""}, {"a + '|' + b + '|' + c", "R1", "R10,15", "R10|15-R10|1| R10|1}-R1|"},
		{"pad(a, 3) + b + '|' + c", "1,x", "1,xy", "001xy-001x|"}, {"a + b + '|' + c", "R1,x", "R1,xy", ""},
	} {
		list := func(text string) []string {
			return slices.DeleteFunc(strings.Split(text, ","), func(v string) bool { return v == "" })
		}
		r, v, err := parseKey(t, c.spec).ByValue(1, list(c.from), list(c.to))
		var gaps []string
		for _, g := range r.Gaps {
			gaps = append(gaps, string(g.Start)+"-"+string(g.Stop))
		}
		if got := strings.Join(gaps, " "); err != nil || got != c.gaps || got != "" && v == nil {
			t.Errorf("%s from %q to %q: gaps %q, want %q, %v", c.spec, c.from, c.to, got, c.gaps, err)
		}
	}
}

// TestByValueRanges checks which ranges of values are ranges of keys, and how others are widened.
func TestByValueRanges(t *testing.T) {
	for _, c := range []struct {
		spec, from, to string
		differs        bool
		lo, hi         string
	}{
		{"a + '|' + b", "R1", "R10", true, "R1", "R1}"}, {"a + '|' + b", "R10", "R2", true, "R10", "R2"}, {"a + '|' + b", "R1", "R2", false, "R1", "R2"}, {"a + '|' + b", "R10", "R15", false, "R10", "R15"},
		{"a + '|' + b", "R1,2015", "R1,2016", false, "R1|2015", "R1|2016"}, {"a + '|' + b", "R1,2015", "R2", true, "R1", "R2"}, {"a + '|' + b", "R1,2015", "R10", true, "R1", "R1}"},
		{"a + '|' + b", "R1,2015", "", true, "R1", ""}, {"a + '|' + b", "", "R10", true, "", "R}"}, {"a + '|' + b", "R|1", "R|9", true, "R|1", "R|9"}, {"a + '+' + b", "R1", "R10", false, "R1", "R10"}, {"a + '\x00' + b", "R1", "R10", false, "R1", "R10"},
		{"a + b", "R1", "R10", false, "R1", "R10"}, {"pad(a, 3) + '|' + b", "1", "10", false, "001", "010"},
	} {
		k := parseKey(t, c.spec)
		list := func(text string) []string {
			if text == "" {
				return nil
			}
			return strings.Split(text, ",")
		}
		r, v, err := k.ByValue(1, list(c.from), list(c.to))
		if err != nil || (v != nil) != c.differs || string(r.Lo) != c.lo || string(r.Hi) != c.hi {
			t.Errorf("%s from %q to %q: [%q, %q), by value %t, %v", c.spec, c.from, c.to, r.Lo, r.Hi, v != nil, err)
		}
	}
	for _, bounds := range [][2]string{{"R10", "R1,5"}, {"R1", "R1"}, {"R1,5", "R1,5"}} {
		if _, _, err := parseKey(t, "a + '|' + b").ByValue(1, strings.Split(bounds[0], ","), strings.Split(bounds[1], ",")); err == nil || !strings.Contains(err.Error(), "no row is in the range") {
			t.Errorf("from %q to %q: %v", bounds[0], bounds[1], err)
		}
	}
}
