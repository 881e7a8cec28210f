package keygen

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func checked(t *testing.T, spec string, o CheckOptions) *Report {
	t.Helper()
	e, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(e, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLengthsAndFirstBytes(t *testing.T) {
	for _, c := range []struct {
		spec     string
		min, max int
		first    string
	}{
		{"salt(a) + md5hex(a) + id", 34, MaxKey, "decimal digits"},
		{"salt(a, 50) + md5hex(a)", 34, 34, "decimal digits"},
		{"md5hex(a)", 32, 32, "lower-case hex digits"},
		{"upper(md5hex(a))", 32, 32, "upper-case hex digits"},
		{"upper(sha1hex(a)) + '|'", 41, 41, "upper-case hex digits"},
		{"md5raw(a) + revtimeraw(b)", 24, 24, "any bytes"},
		{"md5shift(a) + '::'", 9, 9, "decimal digits"},
		{"substr(md5hex(a), 0, 4) + revtime(b)", 23, 23, "lower-case hex digits"},
		{"substr(a, 0, 2)", 2, 8, "any bytes"},
		{"substr(a, -4)", 1, 16, "any bytes"},
		{"substr(md5hex(a), 30)", 2, 2, "lower-case hex digits"},
		{"bytesalt(a, 16)", 1, 1, "bytes 0x00 to 0x0f"},
		{"javasalt(a, 256)", 1, 1, "any bytes"},
		{"'x' + a", 2, MaxKey, "'x'"},
		{"orempty(a) + 'xy'", 2, MaxKey, "any bytes"},
		{"hash(a)", 1, 11, "decimal digits and -"},
		{"mod(hash(a), 10)", 1, 2, "decimal digits and -"},
		{"abs(mod(hash(a), 10))", 1, 1, "decimal digits"},
		{"pad(abs(mod(hash(a), 1000)), 3)", 3, 3, "decimal digits"},
		{"pad(a, 8)", 8, 8, "any bytes"},
		{"date(a, 'yyyy-MM-dd', 'yyyyMMdd')", 8, 8, "decimal digits"},
		{"date(a, 'yyyy-MM-dd', 'unixms')", 1, 20, "decimal digits and -"},
		{"intbytes(a) + longbytes(b)", 12, 12, "any bytes"},
		{"hex(md5raw(a))", 32, 32, "lower-case hex digits"},
		{"unhex(a)", 1, MaxKey, "any bytes"}, {"unhex(md5hex(a))", 16, 16, "any bytes"},
		{"crc32(a)", 1, 10, "decimal digits"},
	} {
		r := checked(t, c.spec, CheckOptions{Regions: 10})
		if r.Min != c.min || r.Max != c.max || r.First.String() != c.first {
			t.Errorf("%s: %d to %d bytes, first %s; want %d to %d, %s", c.spec, r.Min, r.Max, r.First, c.min, c.max, c.first)
		}
	}
}

func TestUniqueness(t *testing.T) {
	for _, c := range []struct {
		spec string
		want Uniqueness
		why  string
	}{
		{"salt(a) + md5hex(a) + id", Unique, "id is in the key"},
		{"a + id", MayCollide, "neither a fixed length nor a separator"},
		{"a + '|' + id", MayCollide, "a separator that cannot occur in them"},
		{"hash(a) + '|' + id", Unique, ""},
		{"id + '|' + crc32(a)", Unique, ""},
		{"hash(a) + '|' + id + '|' + crc32(b)", Unique, ""},
		{"hash(a) + '1' + id", MayCollide, ""},
		{"a + fixed", Unique, ""},
		{"fixed + a", Unique, ""},
		{"a + fixed + b", MayCollide, ""},
		{"id + revtime(t)", Unique, ""},
		{"reverse(id) + md5hex(a)", Unique, ""},
		{"md5hex(id)", ByDigest, ""},
		{"md5hex(a, id)", MayCollide, ""},
		{"md5hex(salt(a), id)", ByDigest, ""},
		{"md5shift(id) + '::'", MayCollide, "gives the same for different values"},
		{"md5shift(id) + '::' + id", Unique, ""},
		{"upper(id)", MayCollide, "upper(id) gives the same"},
		{"substr(id, 0, 8)", MayCollide, ""},
		{"salt(a) + md5hex(a)", MayCollide, "does not hold id"},
	} {
		o := CheckOptions{Regions: 10, Unique: "id"}
		if strings.Contains(c.spec, "fixed") {
			o.Unique, o.Widths = "fixed", map[string]int{"fixed": 32}
		}
		r := checked(t, c.spec, o)
		if r.Uniqueness != c.want || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %s, %s; want %s, %s", c.spec, r.Uniqueness, r.Why, c.want, c.why)
		}
		if warned := strings.Contains(strings.Join(r.Warnings, ""), "two records"); warned != (c.want == MayCollide) {
			t.Errorf("%s: warnings %q", c.spec, r.Warnings)
		}
	}
}

// TestCollisions shows that the warning "may collide" is justified: two records with different ids have one key.
func TestCollisions(t *testing.T) {
	for spec, records := range map[string][2]exampleRow{
		"a + id":       {{"a": "A1", "id": "23"}, {"a": "A12", "id": "3"}},
		"a + '|' + id": {{"a": "A", "id": "B|C"}, {"a": "A|B", "id": "C"}},
		"number(id)":   {{"id": "01"}, {"id": "1"}},
	} {
		one, err1 := key(t, spec, 1, records[0])
		two, err2 := key(t, spec, 1, records[1])
		if err := errors.Join(err1, err2); err != nil || one != two {
			t.Errorf("%s: %q and %q, %v", spec, one, two, err)
		}
	}
}

func digits(from, to int, format string) [][]byte {
	var s [][]byte
	for i := from; i <= to; i++ {
		s = append(s, fmt.Appendf(nil, format, i))
	}
	return s
}

func TestShares(t *testing.T) {
	even := func(n int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = 1 / float64(n)
		}
		return s
	}
	ten, hex16 := digits(1, 9, "%d"), digits(1, 15, "%x")
	for _, c := range []struct {
		spec   string
		splits [][]byte
		want   []float64
		warns  string
	}{
		{"salt(a) + md5hex(a) + id", ten, even(10), ""},
		{"salt(a, 50) + id", digits(1, 49, "%02d"), even(50), ""},
		{"salt(a, 1000) + id", ten, even(10), ""},
		{"spread(a, 16) + id", digits(1, 15, "%02d"), even(16), ""},
		{"pad(abs(mod(hash(a), 1000)), 3) + id", ten, even(10), ""},
		{"abs(mod(hash(a), 10)) + id", ten, even(10), ""},
		{"bytesalt(a, 4) + id", [][]byte{{1}, {2}, {3}}, even(4), ""},
		{"javasalt(a, 2) + id", [][]byte{{1}, {255}}, []float64{.5, .25, .25}, ""},
		{"javasalt(a, 2) + md5hex(a)", [][]byte{[]byte("\x008"), {1}, []byte("\xff8")}, []float64{.25, .25, .375, .125}, ""},
		{"javasalt(a, 3) + id", [][]byte{{1}, {2}}, []float64{1. / 3, 1. / 6, .5}, ""},
		{"javasalt(a, 20) + id", [][]byte{{1}, {2}, {3}, {4}}, []float64{.05, .025, .025, .025, .875}, "keys start with"},
		{"md5hex(a) + id", hex16, even(16), ""},
		{"md5raw(a)", [][]byte{{0x40}, {0x80}, {0xc0}}, even(4), ""},
		{"md5shift(a) + '::' + id", digits(1, 7, "%d"), even(8), ""},
		{"md5hex(a) + id", ten, []float64{.0625, .0625, .0625, .0625, .0625, .0625, .0625, .0625, .0625, .4375},
			"keys start with lower-case hex digits, the split points with decimal digits: of 10 regions the first 6 %, from 1 6 %"},
		{"md5shift(a) + id", hex16, []float64{.125, .125, .125, .125, .125, .125, .125, .125, 0, 0, 0, 0, 0, 0, 0, 0}, "from 8 0 %"},
		{"salt(a, 10) + id", digits(1, 49, "%02d"), nil, ""},
		{"salt(a, 10) + md5hex(a)", [][]byte{[]byte("3"), []byte("38"), []byte("4")}, []float64{.3, .05, .05, .6}, ""},
		{"upper(md5hex(a))", [][]byte{[]byte("8"), []byte("A"), []byte("a")}, []float64{.5, .125, .375, 0}, "from a 0 %"},
		{"substr(md5hex(a), 0, 2) + id", [][]byte{[]byte("80")}, even(2), ""},
		{"'x' + md5hex(a)", [][]byte{[]byte("x8")}, even(2), ""},
		{"'x' + id", ten, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, "keys start with 'x'"},
		{"a + id", ten, nil, ""},
		{"reverse(a) + id", ten, nil, ""},
		{"salt(a, 37) + id", digits(1, 36, "%02d"), even(37), ""},
		{"md5hex(a)", digits(1, 99, "%02d"), nil, "the 97 others less"},
		// that the region of a salt has been split again is not an error
		{"salt(a, 10) + md5hex(a)", append(digits(1, 8, "%d"), []byte("84"), []byte("88"), []byte("9")), nil, ""},
	} {
		r := checked(t, c.spec, CheckOptions{Regions: 10, Splits: c.splits})
		if c.want != nil && (len(r.Shares) != len(c.want) || slices.ContainsFunc(r.Shares, math.IsNaN)) {
			t.Errorf("%s: shares %v, want %v", c.spec, r.Shares, c.want)
			continue
		}
		for i, w := range c.want {
			if math.Abs(r.Shares[i]-w) > 1e-9 {
				t.Errorf("%s: region %d gets %v, want %v", c.spec, i, r.Shares[i], w)
			}
		}
		if text := strings.Join(r.Warnings, "; "); c.warns == "" && text != "" || !strings.Contains(text, c.warns) {
			t.Errorf("%s: warnings %q, want %q", c.spec, text, c.warns)
		}
	}
	for _, spec := range []string{"a + id", "salt(a, 10) + id"} {
		if r := checked(t, spec, CheckOptions{Splits: digits(11, 49, "%02d")}); r.Shares != nil {
			t.Errorf("%s: shares %v cannot be known", spec, r.Shares)
		}
	}
}

// TestSharesOfWideNumbers checks that the zeros before a hash do not change the shares, also if the text has more digits than an int64.
func TestSharesOfWideNumbers(t *testing.T) {
	for _, width := range []int{10, 11, 18, 19, 20, 64, 65, 3000} {
		format := fmt.Sprintf("%%0%dd", width)
		splits := [][]byte{fmt.Appendf(nil, format, 1<<30), fmt.Appendf(nil, format, 1<<31)}
		for _, spec := range []string{"pad(crc32(a), %d)", "upper(pad(crc32(a), %d)) + id", "pad(abs(mod(crc32(a), 2147483647)), %d)"} {
			spec = fmt.Sprintf(spec, width)
			want := []float64{.25, .25, .5}
			if strings.Contains(spec, "mod") {
				want = []float64{.5, .5, 0}
			}
			r := checked(t, spec, CheckOptions{Splits: splits})
			if r.Min < width || r.Shares == nil {
				t.Errorf("%s: %+v", spec, r)
			}
			for i, share := range r.Shares {
				if math.Abs(share-want[i]) > 1e-8 {
					t.Errorf("%s: shares %v, want %v", spec, r.Shares, want)
				}
			}
		}
		if _, err := key(t, fmt.Sprintf("md5hex(pad(crc32(a), %d))", width), 1, map[string]string{"a": "x"}); err != nil {
			t.Error(err)
		}
	}
}

// TestSharesOfSmallRanges checks that a remainder has shares only if all its values are about equally frequent.
func TestSharesOfSmallRanges(t *testing.T) {
	for spec, known := range map[string]bool{
		"mod(abs(mod(hash(a), 10)), 7) + a": false, "pad(mod(crc32(a), 3000000000), 10)": false, "pad(mod(mod(crc32(a), 100), 40), 2)": false,
		"mod(abs(mod(hash(a), 10)), 5) + a": true, "pad(mod(mod(crc32(a), 100), 50), 2)": true, "pad(mod(crc32(a), 2147483647), 10)": true, "pad(mod(crc32(a), 777), 3)": true,
		"pad(mod(mod(crc32(a), 100), 200), 3)": true, "mod(mod(mod(crc32(a), 10), 7), 7) + a": false, "pad(abs(toshort(hash(a))), 5)": true,
		"pad(abs(toshort(mod(hash(a), 10))), 5)": true, "mod(abs(toshort(mod(hash(a), 10))), 7) + a": false, "pad(abs(toshort(mod(crc32(a), 100000))), 5)": false,
		"pad(abs(toshort(mod(hash(a), 40001))), 5)": false, "pad(abs(toshort(mod(hash(a), 65536))), 5)": true,
	} {
		p, _ := program(t, example{spec: spec})
		const rows = 20000
		var keys [][]byte
		for i := range rows {
			k, err := p.Append(nil, [][]byte{fmt.Appendf(nil, "key%d", i*7919)})
			testcheck.Must(t, err)
			keys = append(keys, k)
		}
		slices.SortFunc(keys, bytes.Compare)
		splits := [][]byte{keys[rows/2]}
		if e, _ := Parse(spec); len(Parts(e)) > 1 {
			splits[0] = splits[0][:1]
		}
		if splits[0][0] == '0' && len(splits[0]) == 1 {
			splits[0] = []byte("3")
		}
		r := checked(t, spec, CheckOptions{Splits: splits})
		if (r.Shares != nil) != known {
			t.Errorf("%s: shares %v, want any: %t", spec, r.Shares, known)
			continue
		}
		less, _ := slices.BinarySearchFunc(keys, splits[0], bytes.Compare)
		if got := float64(less) / rows; known && math.Abs(got-r.Shares[0]) > 0.015 {
			t.Errorf("%s: share %v of keys below %q, predicted %v", spec, got, splits[0], r.Shares[0])
		}
	}
	for _, spec := range []string{"pad(mod(mod(hash(a), 10), 7), 1)", "pad(toshort(mod(hash(a), 10)), 1)", "pad(mod(crc32(a), 3000000000), 5)"} {
		if _, err := Parse(spec); err == nil {
			t.Errorf("%s is taken: it fails for some hashes", spec)
		}
	}
}

// TestSharesOfKeys compares the predicted shares with those of real keys.
func TestSharesOfKeys(t *testing.T) {
	const rows = 20000
	specs := []string{"javasalt(a, 100) + md5raw(a)", "salt(a, 50) + md5hex(a)", "md5hex(a)", "md5raw(a)", "md5shift(a)", "spread(a, 37) + sha1hex(a)", "bytesalt(a, 200) + md5raw(a)",
		"upper(substr(sha256hex(a), 3, 5))", "crc32hex(a)", "murmur3raw(a)", "pad(mod(crc32(a), 777), 4)", "pad(crc32(a), 70)", "substr(pad(crc32(a), 25), 0, 8) + md5hex(a)", "substr(pad(mod(crc32(a), 8), 5), 2)"}
	keys := map[string][][]byte{}
	for _, spec := range specs {
		p, _ := program(t, example{spec: spec})
		for i := range rows {
			k, err := p.Append(nil, [][]byte{fmt.Appendf(nil, "key%d", i*7919)})
			if err != nil {
				t.Fatal(err)
			}
			keys[spec] = append(keys[spec], k)
		}
		slices.SortFunc(keys[spec], bytes.Compare)
	}
	testcheck.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom(specs).Draw(t, "spec")
		var splits [][]byte
		for range rapid.IntRange(1, 6).Draw(t, "splits") {
			k := rapid.SampledFrom(keys[spec]).Draw(t, "split")
			split := slices.Clone(k[:rapid.IntRange(1, len(k)).Draw(t, "length")])
			if rapid.Bool().Draw(t, "other") {
				split[len(split)-1] = rapid.Byte().Draw(t, "last")
			}
			splits = append(splits, split)
		}
		slices.SortFunc(splits, bytes.Compare)
		splits = slices.CompactFunc(splits, bytes.Equal)
		e, _ := Parse(spec)
		r, err := Check(e, CheckOptions{Splits: splits})
		if err != nil || r.Shares == nil {
			t.Fatalf("%s with %q: no shares, %v", spec, splits, err)
		}
		last := 0
		for i, share := range r.Shares {
			at := rows
			if i < len(splits) {
				at, _ = slices.BinarySearchFunc(keys[spec], splits[i], bytes.Compare)
			}
			if got := float64(at-last) / rows; math.Abs(got-share) > 0.02 {
				t.Fatalf("%s with %q: region %d has %.3f of the rows, predicted %.3f", spec, splits, i, got, share)
			}
			last = at
		}
	})
}

func TestOtherWarnings(t *testing.T) {
	for spec, want := range map[string]string{
		"sha256hex(a) + sha256hex(b)": "keys have 128 bytes",
		"abs(mod(hash(a), 100)) + id": "has 1 to 2 digits, so keys of different lengths mix: write pad(abs(…), 2)",
	} {
		if got := strings.Join(checked(t, spec, CheckOptions{}).Warnings, ";"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
	e, _ := Parse("chek_id + id + nothing_like_it")
	_, err := Check(e, CheckOptions{Columns: []string{"id", "check_id"}})
	if !errors.Is(err, ErrUnknownColumn) || !strings.Contains(err.Error(), `unknown column "chek_id" (did you mean check_id?)`) ||
		!strings.Contains(err.Error(), `unknown column "nothing_like_it" (the input has ["id" "check_id"])`) {
		t.Errorf("unknown columns: %v", err)
	}
}

// TestUnknownColumnIsNamedAsElsewhere checks that the message about the only column of a key is that about a column of a filter or a cell.
func TestUnknownColumnIsNamedAsElsewhere(t *testing.T) {
	for key, want := range map[string]string{"nothing": `unknown column "nothing" (the input has 2 others`, "`a]`": `unknown column "a]" (`, "nothing + other": `unknown column ["nothing" "other"] (`} {
		e, err := Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Check(e, CheckOptions{Columns: []string{"id", "check"}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}

// TestTextsOfUnknownValues checks that values that no constant has can be printed.
func TestTextsOfUnknownValues(t *testing.T) {
	if k, u := Kind(9).String(), Uniqueness(9).String(); k != "Kind(9)" || u != "Uniqueness(9)" {
		t.Error(k, u)
	}
}
