package keyrange

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"

	"pgregory.net/rapid"
)

// ordered is a kind of values, and their order.
type ordered struct {
	value   func(*rapid.T) string
	compare func(a, b string) int
}

// changes are instants when clocks change in the zones of the tests, and the beginnings of a day and of a year.
var changes = []int64{1774746000, 1792890000, 1775314800, 1791039600, 1519005600 - 3600, 1541300400, 1777593600, 1767225600}

// instant draws an instant, often near a change.
func instant(t *rapid.T) int64 {
	step := rapid.SampledFrom([]int64{3600, 600, 1}).Draw(t, "step")
	return rapid.SampledFrom(changes).Draw(t, "change") + step*rapid.Int64Range(-8, 8).Draw(t, "steps")
}

func times(layout string, offsets ...int) ordered {
	return ordered{func(t *rapid.T) string {
		at := time.Unix(instant(t), rapid.SampledFrom([]int64{0, 0, 5e8, 5e5}).Draw(t, "ns")).UTC()
		if len(offsets) > 0 {
			at = at.In(time.FixedZone("", rapid.SampledFrom(offsets).Draw(t, "offset")))
		}
		return at.Format(layout)
	}, func(a, b string) int {
		x, _ := time.Parse(layout, a)
		y, _ := time.Parse(layout, b)
		return x.Compare(y)
	}}
}

func number(draw func(*rapid.T) int64) ordered {
	return ordered{func(t *rapid.T) string { return strconv.FormatInt(draw(t), 10) }, func(a, b string) int {
		x, _ := strconv.ParseInt(a, 10, 64)
		y, _ := strconv.ParseInt(b, 10, 64)
		return cmp.Compare(x, y)
	}}
}

func orderedSpecs() map[string]ordered {
	text := func(least int) ordered {
		return ordered{func(t *rapid.T) string {
			return rapid.StringOfN(rapid.RuneFrom([]rune("01訂")), least, 4, -1).Draw(t, "text")
		}, strings.Compare}
	}
	small := number(func(t *rapid.T) int64 { return rapid.Int64Range(0, 300).Draw(t, "number") })
	seconds, millis := number(instant), number(func(t *rapid.T) int64 { return instant(t)*1000 + rapid.SampledFrom([]int64{0, 5}).Draw(t, "ms") })
	plain, finer := times(time.DateTime), times("2006-01-02 15:04:05.000000")
	specs := map[string]ordered{
		"a": text(1), "hex(a)": text(1), "substr(a, 0, 2) + a": text(2), "substr(a, 0)": text(1), "substr(a, 0, 2) + b": text(2), "substr(a, 0, 2) + '-' + b": text(2),
		"pad(a, 5) + b": small, "pad(number(a), 5) + b": small, "longbytes(a) + b": small, "intbytes(a) + b": small, "revtime(a) + b": small, "salt(b, 3) + revtimeraw(a) + b": small,
		"date(a, 'yyyy-MM-dd HH:mm:ssXXX', 'yyyyMMddHHmm', 'Europe/Berlin') + b": times("2006-01-02 15:04:05Z07:00", 0, 3600, -7200),
		"longbytes(millis(a, 'yyyy-MM-dd HH:mm:ss.SSSSSS')) + b":                 finer, "date(a, 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'yyyyMMddHHmmssSSS') + b": finer,
		"date(a, 'unixms', 'yyyyMMddHHmmss') + b": millis, "date(a, 'unixms', 'yyyyMMddHHmmssSSS', 'Europe/Berlin') + b": millis,
	}
	for _, zone := range []string{"", ", 'Europe/Berlin'", ", 'Australia/Lord_Howe'", ", 'America/Sao_Paulo'", ", 'America/New_York'"} {
		for _, layout := range []string{"yyyyMMddHHmmss", "yyyy-MM-dd HH", "yyyyMMdd", "yyyy"} {
			specs[fmt.Sprintf("date(a, 'unix', '%s'%s) + b", layout, zone)] = seconds
			specs[fmt.Sprintf("date(a, 'yyyy-MM-dd HH:mm:ss', '%s'%s) + b", layout, zone)] = plain
		}
		specs[fmt.Sprintf("revtime(millis(a, 'yyyy-MM-dd HH:mm:ss'%s)) + b", zone)] = plain
	}
	return specs
}

// between compares a range of random values with the rows that should be in it. It reports whether the range is taken.
func (of ordered) between(t *rapid.T, k Key, keys *keygen.Program) bool {
	tuple := func() []string { return []string{of.value(t), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "b")} }
	bound := func() []string { return tuple()[:rapid.IntRange(1, len(k.Columns())).Draw(t, "values")] }
	compare := func(row, bound []string) int {
		n := of.compare(row[0], bound[0])
		if strings.Contains(k.Spec.String(), "revtime") {
			n = -n
		}
		if len(bound) > 1 {
			n = cmp.Or(n, strings.Compare(row[1], bound[1]))
		}
		return n
	}
	from, to := bound(), bound()
	if len(from) > 1 && len(to) > 1 && from[0] == to[0] {
		return false // the first value is fixed: rows of other values may have its part, too
	}
	switch rapid.IntRange(0, 3).Draw(t, "no bound") {
	case 0:
		from = nil
	case 1:
		to = nil
	}
	r, err := k.Between(1, from, to)
	if _, refused := errors.AsType[*NoRangeError](err); refused {
		return false
	}
	if err != nil && !strings.Contains(err.Error(), "no row is in the range") {
		t.Fatalf("%s from %q to %q: %v", k.Spec, from, to, err)
	}
	for range 20 {
		row := tuple()
		fields := [][]byte{[]byte(row[0]), []byte(row[1])}
		if keys.Columns()[0] == "b" { // of the salt
			slices.Reverse(fields)
		}
		key, keyErr := keys.Append(nil, fields[:len(keys.Columns())])
		if keyErr != nil {
			t.Fatal(keyErr)
		}
		want := (from == nil || compare(row, from) >= 0) && (to == nil || compare(row, to) < 0)
		if got := err == nil && r.Has(key); got != want {
			t.Fatalf("%s from %q to %q: row %q, key %q: in the range %t, want %t, %v", k.Spec, from, to, row, key, got, want, err)
		}
	}
	return true
}

// TestBetween checks that a range of values has exactly the rows from the first value on and before the second, or is refused.
func TestBetween(t *testing.T) {
	specs := orderedSpecs()
	taken := 0
	for spec, of := range specs {
		k := parseKey(t, spec)
		keys, err := keygen.Compile(k.Spec, keygen.Options{Regions: 1})
		testcheck.Must(t, err)
		testcheck.Check(t, func(t *rapid.T) {
			for range 2 {
				if of.between(t, k, keys) {
					taken++
				}
			}
		})
	}
	if taken < 5*len(specs) {
		t.Errorf("%d ranges of %d keys are taken", taken, len(specs))
	}
}

// TestBounds checks which bounds are refused, with what to give instead.
func TestBounds(t *testing.T) {
	const day, berlin = "date(a, 'yyyy-MM-dd HH:mm:ss', 'yyyyMMdd') + b", "date(a, 'unix', 'yyyyMMddHHmmss', 'Europe/Berlin') + b"
	const local = "longbytes(millis(a, 'yyyy-MM-dd HH:mm', 'Europe/Berlin')) + b"
	cut, clock := "keeps only some of the value: give a value that it keeps completely", "around a change of the clock in another order: give a time before or after it"
	for _, c := range []struct {
		spec, value, want string
	}{
		{day, "2026-05-01 12:00:00", cut}, {day, "2026-05-01 00:00:00", ""}, {day, "2026-05-01 00:00:00,x", "give values only up to a"},
		{"substr(a, 0, 8) + b", "202605011", cut}, {"substr(a, 0, 8) + b", "20260501", ""}, {"substr(a, 0, 8) + a + b", "20260501120000", ""},
		{berlin, "1792886399", ""}, {berlin, "1792886400", clock}, {berlin, "1792890000", clock}, {berlin, "1792893599", clock}, {berlin, "1792893600", ""}, {berlin, "1774746000", ""},
		{local, "2026-03-29 01:59", ""}, {local, "2026-03-29 02:00", clock}, {local, "2026-03-29 03:59", clock}, {local, "2026-03-29 04:00", ""}, {local, "2026-10-25 02:30", ""},
		{"longbytes(a) + b", "-1", "keeps the order of numbers from 0 up: use get"}, {"pad(a, 5) + b", "-1", "from 0 up"}, {"pad(a, 5) + b", "0", ""}, {"longbytes(millis(a, 'yyyy'))", "1969", "from 0 up"},
	} {
		k := parseKey(t, c.spec)
		_, from := k.Between(1, strings.Split(c.value, ","), nil)
		_, to := k.Between(1, nil, strings.Split(c.value, ","))
		for name, err := range map[string]error{"`from`": from, "`to`": to} {
			if c.want == "" && err == nil {
				continue
			}
			_, refused := errors.AsType[*NoRangeError](err)
			if c.want == "" || !refused || fail.KindOf(err) != fail.Config || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s %q: %v, want %q", c.spec, name, c.value, err, c.want)
			}
		}
	}
}

// TestFormatValues checks that values of any bytes have a text of UTF-8 from which they are read back, and that usual ones are unchanged.
func TestFormatValues(t *testing.T) {
	for _, v := range []string{"a", "A208848994", "申请", "", "x=1 \t"} {
		if got := FormatValues([]string{v}); got != v {
			t.Errorf("%q is %q", v, got)
		}
	}
	testcheck.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }), rapid.StringOf(rapid.SampledFrom([]rune(`,\x4f申`+"\ufffd"))))
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		text := FormatValues(values)
		if got, err := ParseValues(text); err != nil || !slices.Equal(got, values) || !utf8.ValidString(text) {
			t.Fatalf("%q has the text %q, which is %q, %v", values, text, got, err)
		}
	})
}

func TestParseValues(t *testing.T) {
	for in, want := range map[string][]string{
		"a": {"a"}, "": {""}, "a,b": {"a", "b"}, `a\,b,\x00\\`: {"a,b", "\x00\\"}, ",": {"", ""},
	} {
		if got, err := ParseValues(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{`\`, `\x`, `\x1`, `\xg0`, `a\n`} {
		if _, err := ParseValues(in); err == nil {
			t.Errorf("%q was read", in)
		}
	}
}
