package query

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

func parseKey(t testing.TB, spec string) saltedKey {
	t.Helper()
	e, err := keygen.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return splitSalt(e)
}

// holds reports whether a row key is one of those that a scan of the range reads.
func (r keyRange) holds(key []byte) bool {
	for _, h := range r.heads {
		if bytes.Compare(key, r.start(h)) >= 0 && (len(r.stop(h)) == 0 || bytes.Compare(key, r.stop(h)) < 0) {
			return true
		}
	}
	return false
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
		{"salt(ts) + ts + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "2015a", "2015b"},                                                                // among them the ts 2015a
		{"salt(ts) + pad(ts, 6) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "002015a", "002015b"},                                                    // among them the ts 02015
		{"salt(ts) + md5hex(ts) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 1, "65d2ea03425887a717c435081cfc5dbba", "65d2ea03425887a717c435081cfc5dbbb"}, // ts is known, and its salt
		{"salt(ts) + substr(md5hex(ts), 0, 4) + id", []string{"2015", "a"}, []string{"2015", "b"}, nil, 10, "65d2a", "65d2b"},                                          // other ts have these digits
		{"salt(ts) + ts + id", nil, nil, []string{"2015"}, 10, "2015", "2016"},
		{"salt(ts) + ts + id", nil, nil, []string{"2015", ""}, 1, "", ""}, // an empty key column: an error
		{"salt(ts, 3) + '|' + ts + '_' + id", []string{"2015"}, []string{"2016"}, nil, 3, "|2015", "|2016"},
		{"salt(ts, 3) + '|' + ts + '_' + id", []string{"2015", "x"}, nil, nil, 3, "|2015_x", ""},
		{"salt(a, 2) + ':' + salt(b, 3) + a + b", []string{"x"}, nil, nil, 6, "x", ""},
		{"ts + id", []string{"2015"}, []string{"2016", "b"}, nil, 1, "2015", "2016b"},
		{"md5hex(user) + ts", []string{"u", "1"}, []string{"u", "2"}, nil, 1, "7b774effe4a349c6dd82ad4f4f21d34c1", "7b774effe4a349c6dd82ad4f4f21d34c2"},
		{"ts + md5hex(ts) + id", []string{"1"}, []string{"2"}, nil, 1, "1", "2"}, // what stands before is enough
	} {
		k := parseKey(t, c.spec)
		var r keyRange
		var err error
		if c.prefix != nil {
			r, err = k.beginning(10, c.prefix)
		} else {
			r, err = k.between(10, c.from, c.to)
		}
		if bad := slices.Contains(c.prefix, ""); bad || err != nil {
			if !bad || fail.KindOf(err) != fail.Config {
				t.Errorf("%s from %q to %q prefix %q: %v", c.spec, c.from, c.to, c.prefix, err)
			}
			continue
		}
		if len(r.heads) != c.heads || string(r.lo) != c.lo || string(r.hi) != c.hi {
			t.Errorf("%s from %q to %q prefix %q: %d heads, [%q, %q)", c.spec, c.from, c.to, c.prefix, len(r.heads), r.lo, r.hi)
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
		_, err := parseKey(t, c.spec).between(10, c.from, c.to)
		if err == nil || !strings.Contains(err.Error(), c.want) || fail.KindOf(err) != fail.Config {
			t.Errorf("%s from %q to %q: %v", c.spec, c.from, c.to, err)
		}
	}
	if _, err := parseKey(t, "salt(id) + md5hex(id) + a").with(10, map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), "md5hex(id) cannot be made") {
		t.Errorf("a query column behind the hash: %v", err)
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
		k := splitSalt(e)
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
		r, err := k.between(1, from, to)
		if err != nil {
			return // an empty range
		}
		rest := func(values []string) []byte {
			b, err := keyBytes(k.rest, 1, map[string]string{"a": values[0], "b": values[1]})
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
			key, err := keyBytes(keygen.Parts(e), 1, map[string]string{"a": row[0], "b": row[1]})
			if err != nil {
				t.Fatal(err)
			}
			original := rest(row)
			want := bytes.Compare(original, r.lo) >= 0 && bytes.Compare(original, r.hi) < 0
			if got := r.holds(key); got != want {
				t.Fatalf("%s from %q to %q: row %q, key %q: in the range %t, want %t", spec, from, to, row, key, got, want)
			}
			// where values have one length, the order of bytes is that of the values
			if len(from) == 2 && len(to) == 2 && len(row[0]) == len(from[0]) && len(row[0]) == len(to[0]) && !hashed {
				if want := !lessTuple([][]byte{[]byte(row[0]), []byte(row[1])}, from) && lessTuple([][]byte{[]byte(row[0]), []byte(row[1])}, to); r.holds(key) != want {
					t.Fatalf("%s from %q to %q: row %q: in the range %t, by its values %t", spec, from, to, row, !want, want)
				}
			}
		}
	})
}

// TestQueryKeyProperty: every row of a query key is in its range, whatever part of the key the query makes.
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
		r, err := splitSalt(e).with(1, known)
		if err != nil {
			t.Fatal(err)
		}
		row := map[string]string{"a": known["a"], "b": known["b"]}
		if row["b"] == "" {
			row["b"] = value.Draw(t, "the row's b")
		}
		key, err := keyBytes(keygen.Parts(e), 1, row)
		if err != nil {
			t.Fatal(err)
		}
		if !r.holds(key) {
			t.Fatalf("%s: the row %q of the query %q is not read", spec, key, known)
		}
	})
}

func TestFullFilter(t *testing.T) {
	k := parseKey(t, "salt(a) + md5hex(a) + b")
	row := func(values ...string) loader.Row {
		var r loader.Row
		for i, v := range values {
			if v != "" {
				r.Cells = append(r.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte([]string{"a", "b", "c"}[i]), Value: []byte(v)})
			}
		}
		return r
	}
	for _, c := range []struct {
		q    Query
		row  loader.Row
		want bool
	}{
		{Query{From: []string{"b"}, To: []string{"d"}}, row("b", "1"), true},
		{Query{From: []string{"b"}, To: []string{"d"}}, row("d", "1"), false},
		{Query{From: []string{"b"}, To: []string{"d"}}, row("a", "1"), false},
		{Query{From: []string{"b", "2"}}, row("b", "1"), false},
		{Query{From: []string{"b", "2"}}, row("c", "1"), true},
		{Query{To: []string{"b", "2"}}, row("b", "1"), true},
		{Query{To: []string{"b", "2"}}, row("b", ""), false}, // no such cell
		{Query{From: []string{"b"}}, row("", "1"), false},
		{Query{Prefix: []string{"bb"}}, row("bbc", "1"), true},
		{Query{Prefix: []string{"bb"}}, row("b", "1"), false},
		{Query{Prefix: []string{"bb", "1"}}, row("bb", "12"), true},
		{Query{Prefix: []string{"b", "1"}}, row("bb", "12"), false},
	} {
		f, err := fullFilter(jobtest.Resolve(t, spec.Spec{}), k, c.q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.row(c.row)
		if err != nil || got != c.want {
			t.Errorf("%+v: row %+v is kept %t, want %t", c.q, c.row, got, c.want)
		}
		// what the server checks must not hold back what is wanted
		if v := c.row.Cells; c.want && len(f.where) > 0 {
			if w := f.where[0]; bytes.Compare(v[0].Value, w.From) < 0 || w.To != nil && bytes.Compare(v[0].Value, w.To) > 0 {
				t.Errorf("%+v: the server would hold back %+v", c.q, c.row)
			}
		}
	}
	if _, err := fullFilter(jobtest.Resolve(t, spec.Spec{}), k, Query{}); fail.KindOf(err) != fail.Config {
		t.Errorf("no range: %v", err)
	}
}

// TestKeepsOrder judges parts that the language has, by their form.
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
		heads, err := splitSalt(keygen.Concat{Parts: []keygen.Expr{c.salt, column}}).heads(10)
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
