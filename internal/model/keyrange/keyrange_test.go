package keyrange

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"

	"pgregory.net/rapid"
)

func parseKey(t testing.TB, spec string) Key {
	t.Helper()
	e, err := keygen.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return Split(e)
}

func TestKeyRange(t *testing.T) {
	for _, c := range []struct {
		spec             string
		from, to, prefix []string
		heads            int
		lo, hi           string
	}{
		{"salt(ts) + ts + id", nil, nil, nil, 10, "", ""},
		{"salt(ts) + ts + id", []string{"2015"}, []string{"2016"}, nil, 10, "2015", "2016"},
		{"salt(ts) + ts + id", []string{"2015"}, nil, nil, 10, "2015", ""},
		{"salt(ts) + ts + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "2015a", "2015b"},                                                                // includes the ts 2015a
		{"salt(ts) + pad(ts, 6) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "002015a", "002015b"},                                                    // includes the ts 02015
		{"salt(ts) + md5hex(ts) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 1, "65d2ea03425887a717c435081cfc5dbba", "65d2ea03425887a717c435081cfc5dbbb"}, // ts is known, and so is its salt
		{"salt(ts) + substr(md5hex(ts), 0, 4) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "65d2a", "65d2b"},                                          // other ts have these digits
		{"salt(ts) + ts + id", nil, nil, []string{"2015"}, 10, "2015", "2016"},
		{"salt(ts) + ts + id", nil, nil, []string{"2015", ""}, 1, "", ""},  // an empty key column: an error
		{"salt(ts) + ts + id", nil, nil, []string{"\xff"}, 10, "\xff", ""}, // no bytes follow those of the prefix
		{"ts + id", nil, nil, []string{"\xff", "\xff\xff"}, 1, "\xff\xff\xff", ""},
		{"ts + id", nil, nil, []string{"\xfe\xff"}, 1, "\xfe\xff", "\xff"},
		{"salt(ts, 3) + '|' + ts + '_' + id", []string{"2015"}, []string{"2016"}, nil, 3, "|2015", "|2016"},
		{"salt(ts, 3) + '|' + ts + '_' + id", []string{"2015", "x"}, nil, nil, 3, "|2015_x", ""},
		{"salt(a, 2) + ':' + salt(b, 3) + a + b", []string{"x"}, nil, nil, 6, "x", ""},
		{"ts + id", []string{"2015"}, []string{"2016", "b"}, nil, 1, "2015", "2016b"},
		{"md5hex(user) + ts", []string{"u", "1"}, []string{"u", "2"}, nil, 1, "7b774effe4a349c6dd82ad4f4f21d34c1", "7b774effe4a349c6dd82ad4f4f21d34c2"},
		{"ts + md5hex(ts) + id", []string{"1"}, []string{"2"}, nil, 1, "1", "2"}, // the part before is enough
	} {
		k := parseKey(t, c.spec)
		var r Rows
		var err error
		if c.prefix != nil {
			r, err = k.Beginning(10, c.prefix)
		} else {
			r, err = k.Between(10, c.from, c.to)
		}
		if bad := slices.Contains(c.prefix, ""); bad || err != nil {
			if !bad || fail.KindOf(err) != fail.Config {
				t.Errorf("%s from %q to %q prefix %q: %v", c.spec, c.from, c.to, c.prefix, err)
			}
			continue
		}
		if len(r.Heads) != c.heads || string(r.Lo) != c.lo || string(r.Hi) != c.hi {
			t.Errorf("%s from %q to %q prefix %q: %d heads, [%q, %q)", c.spec, c.from, c.to, c.prefix, len(r.Heads), r.Lo, r.Hi)
		}
	}
}

func TestKeyRangeRefused(t *testing.T) {
	for _, c := range []struct {
		spec     string
		from, to []string
		want     string
	}{
		{"salt(check_id) + md5hex(check_id) + id", []string{"A"}, nil, "md5hex(check_id) does not keep the order"},
		{"salt(check_id) + md5hex(check_id) + id", []string{"A", "1"}, []string{"B", "1"}, "scan `full`"},
		{"ts + md5hex(user) + id", []string{"1", "u"}, []string{"2", "u"}, "md5hex(user)"},
		{"salt(ts) + ts", []string{"2"}, []string{"1"}, "no row is in the range"},
		{"salt(ts) + ts", []string{"2"}, []string{"2"}, "no row is in the range"},
		{"salt(ts) + ts", []string{"1", "2"}, nil, `has the columns ["ts"]`},
		{"md5hex(a, b) + c", []string{"1"}, nil, `needs ["a" "b"]`},
		{"salt(ts, 400) + salt(id, 400) + ts", nil, nil, "more than 100000 values"},
		{"ts", []string{""}, nil, "`from`: column ts: key column is empty"},
	} {
		_, err := parseKey(t, c.spec).Between(10, c.from, c.to)
		if err == nil || !strings.Contains(err.Error(), c.want) || fail.KindOf(err) != fail.Config {
			t.Errorf("%s from %q to %q: %v", c.spec, c.from, c.to, err)
		}
	}
	if _, err := parseKey(t, "salt(id) + md5hex(id) + a").With(10, map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), "md5hex(id) cannot be made") {
		t.Errorf("a query column behind the hash: %v", err)
	}
}

// TestRangesOfRows checks that ranges have the rows of each head, in order and disjoint, and that Within intersects them.
func TestRangesOfRows(t *testing.T) {
	row := rapid.StringOfN(rapid.RuneFrom([]rune("0123")), 0, 3, -1)
	testcheck.Check(t, func(t *rapid.T) {
		k := keygen.Concat{Parts: []keygen.Expr{keygen.Call{Func: "salt", Args: []keygen.Expr{keygen.Column{Name: "a"}}, Ints: []int{3}}, keygen.Column{Name: "a"}}}
		heads, err := Split(k).Heads(1)
		if err != nil {
			t.Fatal(err)
		}
		r := Rows{Heads: heads}
		if lo := row.Draw(t, "lo"); lo != "" {
			r.Lo = []byte(lo)
		}
		if hi := row.Draw(t, "hi"); hi > string(r.Lo) {
			r.Hi = []byte(hi)
		}
		ranges := r.Ranges()
		if err := Check(ranges); err != nil {
			t.Fatalf("%q: %v", ranges, err)
		}
		whole := Range{Start: []byte(row.Draw(t, "start")), Stop: []byte(row.Draw(t, "stop"))}
		parts := Within(ranges, whole)
		has := func(in []Range, key []byte) bool {
			return slices.ContainsFunc(in, func(x Range) bool { return x.Has(key) })
		}
		for range 20 {
			key := []byte(row.Draw(t, "row"))
			if has(ranges, key) != r.Has(key) || has(parts, key) != (r.Has(key) && whole.Has(key)) {
				t.Fatalf("row %q of %q in %q: %q", key, ranges, whole, parts)
			}
		}
	})
	if all := Within(nil, Range{Start: []byte("a")}); len(all) != 1 || string(all[0].Start) != "a" {
		t.Errorf("no ranges are not all rows: %q", all)
	}
	for _, bad := range [][]Range{{{nil, []byte("b")}, {[]byte("a"), nil}}, {{}, {[]byte("a"), nil}}, {{[]byte("b"), []byte("b")}}} {
		if Check(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestKeyRangeProperty compares the rows in a range with those whose original
// key, the bytes after the salt, is between the bounds' bytes.
func TestKeyRangeProperty(t *testing.T) {
	specs := []string{"salt(a, 7) + a + b", "a + b", "salt(a, b, 12) + a + '_' + b", "salt(b, 3) + '+' + a + b", "salt(a, 2) + salt(b, 3) + a + b", "salt(a, 7) + md5hex(a) + b", "md5hex(a) + b"}
	value := rapid.StringOfN(rapid.RuneFrom([]rune("01a订")), 1, 3, -1)
	testcheck.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom(specs).Draw(t, "spec")
		e, err := keygen.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		k := Split(e)
		hashed := strings.Contains(spec, "md5hex")
		from := []string{value.Draw(t, "from a")}
		to := []string{value.Draw(t, "to a")}
		if hashed {
			to[0] = from[0]
		}
		if hashed || rapid.Bool().Draw(t, "with b") {
			from = append(from, value.Draw(t, "from b"))
		}
		if hashed || rapid.Bool().Draw(t, "to b too") {
			to = append(to, value.Draw(t, "to b"))
		}
		r, err := k.Between(1, from, to)
		if err != nil {
			return // an empty range
		}
		rest := func(values []string) []byte {
			b, err := Bytes(k.Rest, 1, map[string]string{"a": values[0], "b": values[1]})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		for range 20 {
			row := []string{value.Draw(t, "a"), value.Draw(t, "b")}
			if rapid.Bool().Draw(t, "near") {
				row[0] = from[0]
			}
			key, err := Bytes(keygen.Parts(e), 1, map[string]string{"a": row[0], "b": row[1]})
			if err != nil {
				t.Fatal(err)
			}
			original := rest(row)
			want := bytes.Compare(original, r.Lo) >= 0 && bytes.Compare(original, r.Hi) < 0
			if got := r.Has(key); got != want {
				t.Fatalf("%s from %q to %q: row %q, key %q: in the range %t, want %t", spec, from, to, row, key, got, want)
			}
			// If values have equal length, bytes sort like the values.
			if len(from) == 2 && len(to) == 2 && len(row[0]) == len(from[0]) && len(row[0]) == len(to[0]) && !hashed {
				if want := slices.Compare(row, from) >= 0 && slices.Compare(row, to) < 0; r.Has(key) != want {
					t.Fatalf("%s from %q to %q: row %q: in the range %t, by its values %t", spec, from, to, row, !want, want)
				}
			}
		}
	})
}

// TestLongBounds checks that bounds that are too long for a row key once a salt precedes them are refused: HBase would refuse the scan.
func TestLongBounds(t *testing.T) {
	k := parseKey(t, "salt(a, 3) + a + b")
	for n, ok := range map[int]bool{keygen.MaxKey - 1: true, keygen.MaxKey: false} {
		long := strings.Repeat("x", n)
		_, from := k.Between(1, []string{long}, nil)
		_, to := k.Between(1, nil, []string{long})
		_, prefix := k.Beginning(1, []string{long})
		_, with := k.With(1, map[string]string{"a": long})
		for i, err := range []error{from, to, prefix, with} {
			if (err == nil) != ok || !ok && (!errors.Is(err, keygen.ErrLong) || fail.KindOf(err) != fail.Config) {
				t.Errorf("bound %d of %d bytes: %v", i, n, err)
			}
		}
	}
}

// TestQueryKeyProperty checks that every row of a query key is in its range, whatever part of the key the query determines.
func TestQueryKeyProperty(t *testing.T) {
	value := rapid.StringOfN(rapid.RuneFrom([]rune("01a订")), 1, 3, -1)
	testcheck.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{"salt(a, 7) + md5hex(a) + b", "a + b", "salt(b, 5) + a + b", "md5hex(a) + b", "salt(a, b, 12) + md5hex(a) + '_' + b"}).Draw(t, "spec")
		e, err := keygen.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]string{"a": value.Draw(t, "a")}
		if rapid.Bool().Draw(t, "b is known") {
			known["b"] = value.Draw(t, "b")
		}
		r, err := Split(e).With(1, known)
		if err != nil {
			t.Fatal(err)
		}
		row := map[string]string{"a": known["a"], "b": known["b"]}
		if row["b"] == "" {
			row["b"] = value.Draw(t, "the row's b")
		}
		key, err := Bytes(keygen.Parts(e), 1, row)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Has(key) {
			t.Fatalf("%s: the row %q of the query %q is not read", spec, key, known)
		}
	})
}

// TestKeepsOrder checks which parts keep the order of their column.
func TestKeepsOrder(t *testing.T) {
	column := keygen.Column{Name: "a"}
	literal := func(s string) keygen.Expr { return keygen.Literal{Bytes: []byte(s)} }
	call := func(name string, args ...keygen.Expr) keygen.Call { return keygen.Call{Func: name, Args: args} }
	date := func(layout string) keygen.Expr {
		return call("date", column, literal("yyyy-MM-dd HH:mm:ss"), literal(layout))
	}
	substr := func(ints ...int) keygen.Expr {
		return keygen.Call{Func: "substr", Args: []keygen.Expr{column}, Ints: ints}
	}
	for _, c := range []struct {
		part keygen.Expr
		want bool
	}{
		{column, true}, {literal("x"), true}, {call("hex", column), true}, {call("longbytes", column), true},
		{call("revtime", call("millis", column, literal("yyyy"))), true}, {call("pad", call("number", column)), true},
		{date("yyyyMMddHHmmss"), true}, {date("yyyy-MM-dd"), true}, {date("yyyy/MM/dd HH:mm:ss.SSS"), true}, {substr(0, 8), true},
		{date("ddMMyyyy"), false}, {date("yyyyddMM"), false}, {date("yy"), false}, {date("unix"), false}, {date("yyyy XXX"), false}, {date("--"), false},
		{substr(1, 8), false}, {substr(-4), false}, {call("md5hex", column), false}, {call("salt", column), false}, {call("reverse", column), false},
		{call("pad", call("mod", column)), false}, {call("pad", keygen.Concat{Parts: []keygen.Expr{column, column}}), false},
		{call("number", column), false}, {call("unknown", column), false}, {call("date", column), false}, {call("pad"), false},
	} {
		if got := keepsOrder(c.part); got != c.want {
			t.Errorf("%s keeps the order: %t, want %t", c.part, got, c.want)
		}
	}
}

func TestSaltValues(t *testing.T) {
	column := keygen.Column{Name: "a"}
	for _, c := range []struct {
		salt  keygen.Call
		n     int
		last  string
		width int
	}{
		{keygen.Call{Func: "salt", Args: []keygen.Expr{column}}, 10, "9", 1},
		{keygen.Call{Func: "salt", Args: []keygen.Expr{column}, Ints: []int{1000}}, 1000, "999", 3},
		{keygen.Call{Func: "salt", Args: []keygen.Expr{column}, Ints: []int{1}}, 1, "0", 1},
		{keygen.Call{Func: "bytesalt", Args: []keygen.Expr{column}, Ints: []int{256}}, 256, "\xff", 1},
		{keygen.Call{Func: "javasalt", Args: []keygen.Expr{column}}, 19, "\xff", 1},
		{keygen.Call{Func: "javasalt", Args: []keygen.Expr{column}, Ints: []int{1}}, 1, "\x00", 1},
		{keygen.Call{Func: "javasalt", Args: []keygen.Expr{column}, Ints: []int{128}}, 255, "\xff", 1},
		{keygen.Call{Func: "javasalt", Args: []keygen.Expr{column}, Ints: []int{200}}, 256, "\xff", 1},
		{keygen.Call{Func: "spread", Args: []keygen.Expr{column}}, 100, "99", 2},
	} {
		heads, err := Split(keygen.Concat{Parts: []keygen.Expr{c.salt, column}}).Heads(10)
		if err != nil || len(heads) != c.n || string(heads[c.n-1]) != c.last || !slices.IsSortedFunc(heads, bytes.Compare) {
			t.Errorf("%s: %d values to %q, %v", c.salt, len(heads), heads[len(heads)-1], err)
		}
		for _, h := range heads {
			if len(h) != c.width {
				t.Errorf("%s: value %q", c.salt, h)
			}
		}
	}
}

// TestSortsByTime checks every byte after the units of a layout: letters do not sort by time, other bytes do.
func TestSortsByTime(t *testing.T) {
	for c := range 256 {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		for _, units := range []string{"yyyy", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss.SSS"} {
			if got := sortsByTime(keygen.Literal{Bytes: append([]byte(units), byte(c))}); got == letter {
				t.Errorf("%s with %q: %t", units, byte(c), got)
			}
		}
		if sortsByTime(keygen.Literal{Bytes: []byte{byte(c)}}) {
			t.Errorf("%q alone sorts by time", byte(c))
		}
	}
}
