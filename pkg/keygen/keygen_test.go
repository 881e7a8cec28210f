package keygen

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func key(t testing.TB, spec string, regions int, record map[string]string) (string, error) {
	t.Helper()
	e, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Options{Regions: regions})
	if err != nil {
		t.Fatal(err)
	}
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, []byte(record[c]))
	}
	k, err := p.Append([]byte("before"), fields)
	return strings.TrimPrefix(string(k), "before"), err
}

// TestVectors compares keys with those made by Java (String.hashCode, MessageDigest).
func TestVectors(t *testing.T) {
	const id = "59C1A1FDCBBE01ECE053C5013807B6BE"
	check := map[string]string{"check_id": "A208848994", "id": id}
	const md5 = "1dbdebfbc84bad48d92aa7c045019e8d"
	for _, c := range []struct {
		spec    string
		regions int
		record  map[string]string
		want    string
	}{
		{"salt(check_id) + md5hex(check_id) + id", 10, check, "9" + md5 + id},
		{"salt(check_id) + md5hex(check_id) + id", 3, check, "0" + md5 + id},
		{"salt(check_id) + md5hex(check_id) + id", 50, check, "09" + md5 + id},
		{"salt(check_id) + md5hex(check_id) + id", 1000, check, "609" + md5 + id},
		{"salt(check_id, 1000) + md5hex(check_id) + id", 7, check, "609" + md5 + id},
		{"salt(check_id)+'+'+md5hex(check_id)+'+'+id", 10, check, "9+" + md5 + "+" + id},
		{`salt(check_id) + "|" + md5hex(check_id) + "|" + id`, 10, check, "9|" + md5 + "|" + id},
		{"check_id + id", 10, check, "A208848994" + id},
		{"salt(buss_no + business_type) + md5hex(buss_no, business_type) + id", 50,
			map[string]string{"buss_no": "BN20170901001", "business_type": "02", "id": id},
			"09e6c6bfafd450186cb57a3ac0eec72f6b" + id},
		{"salt(k) + k", 1000, map[string]string{"k": "20150524002300_1232"}, "20320150524002300_1232"},
	} {
		got, err := key(t, c.spec, c.regions, c.record)
		if err != nil || got != c.want {
			t.Errorf("%s with %d regions is %q, %v, want %q", c.spec, c.regions, got, err, c.want)
		}
	}
}

func TestJavaHash(t *testing.T) {
	for s, want := range map[string]int32{
		"A208848994": 1797210609, "CMWU5ACUYP7Z": 1932908096, "": 0, "a": 97,
		"贷款申请001": -543314426, "😀emoji": -1233692477, "polygenelubricants": -2147483648,
		"\uffff": 65535, "\U00010000": 1770496, "\U0010ffff": 1803232,
	} {
		if got := JavaHash([]byte(s)); got != want {
			t.Errorf("hashCode of %q is %d, want %d", s, got, want)
		}
	}
	for s, want := range map[string]string{"贷款申请001": "6", "😀emoji": "7", "polygenelubricants": "8"} {
		if got, err := key(t, "salt(k)", 10, map[string]string{"k": s}); got != want || err != nil {
			t.Errorf("salt of %q is %s, %v, want %s", s, got, err, want)
		}
	}
	if got, _ := key(t, "salt(k)", 50, map[string]string{"k": "polygenelubricants"}); got != "48" {
		t.Errorf("salt is %s, want 48", got)
	}
}

func TestBadRecords(t *testing.T) {
	for _, c := range []struct {
		spec   string
		record map[string]string
		want   error
		column string
	}{
		{"salt(a) + b", map[string]string{"b": "x"}, ErrEmpty, "a"},
		{"md5hex(a + b) + a", map[string]string{"a": "x"}, ErrEmpty, "b"},
		{"a + salt(b)", map[string]string{"a": "x", "b": "\xff"}, ErrUTF8, "b"},
		{"a + '-' + a", map[string]string{"a": strings.Repeat("x", 16384)}, ErrLong, ""},
	} {
		_, err := key(t, c.spec, 10, c.record)
		var f *FieldError
		if !errors.Is(err, c.want) || !errors.As(err, &f) || f.Column != c.column {
			t.Errorf("%s: error %v, want %v in column %q", c.spec, err, c.want, c.column)
		}
	}
	if k, err := key(t, "a", 1, map[string]string{"a": strings.Repeat("x", MaxKey)}); err != nil || len(k) != MaxKey {
		t.Errorf("the longest key gives %v", err)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for spec, pos := range map[string]int{
		"": 0, "a +": 3, "a b": 2, "+ a": 0, "nope(a)": 0, "salt()": 0, "salt(a, 3, 4)": 0, "salt(a": 6,
		"salt(3, a)": 8, "'": 0, "''": 0, `'\q'`: 1, "a + 3": 5, "`a": 0, "(a": 2, "salt(a b)": 7, "md5hex(a, 2)": 0,
		strings.Repeat("(", 100): 33,
	} {
		_, err := Parse(spec)
		var s *SyntaxError
		if !errors.As(err, &s) || s.Pos != pos {
			t.Errorf("%q: %v (position %d wanted)", spec, err, pos+1)
		}
	}
}

// TestRoundTrip prints random specs and reads them back.
func TestRoundTrip(t *testing.T) {
	var expr func(depth int) *rapid.Generator[Expr]
	literal := func(t *rapid.T) Expr {
		return Literal{Bytes: rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "literal")}
	}
	column := func(t *rapid.T) Expr {
		return Column{Name: rapid.SampledFrom([]string{"a", "check_id", "订单", "a b", "1x", "x-y", "hash", "$row", "$", "a$"}).Draw(t, "column")}
	}
	call := func(t *rapid.T, depth int) Expr {
		f := rapid.SampledFrom(functions()).Draw(t, "function")
		c := Call{Func: f.name, Args: []Expr{expr(depth-1).Draw(t, "arg")}}
		switch {
		case f.name == "orempty":
			c.Args = []Expr{column(t)}
		case f.joins:
			c.Args = append(c.Args, rapid.SliceOfN(expr(depth-1), 0, 2).Draw(t, "more")...)
		case f.consts[1] > 0:
			for range rapid.IntRange(f.consts[0], f.consts[1]-1).Draw(t, "layouts") {
				c.Args = append(c.Args, Literal{Bytes: []byte(rapid.SampledFrom([]string{"yyyy-MM-dd'T'HH:mm", "unix"}).Draw(t, "layout"))})
			}
			c.Args = append(c.Args, Literal{Bytes: []byte("Asia/Shanghai")})[:f.consts[1]+1]
		}
		for i := range rapid.IntRange(f.ints[0], f.ints[1]).Draw(t, "ints") {
			c.Ints = append(c.Ints, rapid.IntRange(f.bounds[i][0], f.bounds[i][1]).Draw(t, "n"))
		}
		if f.verify(c) != nil {
			return column(t) // such as a pad that is too narrow
		}
		return c
	}
	expr = func(depth int) *rapid.Generator[Expr] {
		return rapid.Custom(func(t *rapid.T) Expr {
			switch n := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case n == 0:
				return literal(t)
			case n == 1 && depth > 0:
				return call(t, depth)
			case n == 2 && depth > 0:
				return Concat{Parts: append(slices.Clone(Parts(expr(depth-1).Draw(t, "a"))), Parts(expr(depth-1).Draw(t, "b"))...)}
			}
			return column(t)
		})
	}
	testcheck.Check(t, func(t *rapid.T) {
		e := expr(3).Draw(t, "spec")
		got, err := Parse(e.String())
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%s reads as %v, %v", e, got, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("salt(check_id, 10) + md5hex(check_id) + '\\x00' + `a b`")
	for _, x := range examples() {
		f.Add(x.spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		e, err := Parse(spec)
		if err != nil {
			return
		}
		again, err := Parse(e.String())
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%q parses as %s, which gives %v, %v", spec, e, again, err)
		}
	})
}

func FuzzJavaHash(f *testing.F) {
	f.Add("订单😀1")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		h := int32(0)
		for _, r := range s {
			if r >= 0x10000 {
				h = h*31 + (r-0x10000)>>10 + 0xd800
				r = (r-0x10000)&0x3ff + 0xdc00
			}
			h = h*31 + r
		}
		if got := JavaHash([]byte(s)); got != h {
			t.Fatalf("hash of %q is %d, want %d", s, got, h)
		}
	})
}

// TestAppendDoesNotAllocate checks that making a key does not allocate.
func TestAppendDoesNotAllocate(t *testing.T) {
	e, err := Parse("salt(buss_no + business_type) + md5hex(buss_no, business_type) + id")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Options{Regions: 50})
	if err != nil {
		t.Fatal(err)
	}
	fields := [][]byte{[]byte("BN20170901001"), []byte("02"), bytes.Repeat([]byte("A"), 32)}
	dst := make([]byte, 0, 100)
	n := testing.AllocsPerRun(100, func() {
		fields[0][0]++
		if _, err := p.Append(dst, fields); err != nil {
			t.Fatal(err)
		}
		fields[0][0]--
	})
	if n != 0 {
		t.Fatalf("%v allocations a key", n)
	}
}

func BenchmarkCheckKey(b *testing.B) {
	e, _ := Parse("salt(check_id) + md5hex(check_id) + id")
	p, err := Compile(e, Options{Regions: 10})
	if err != nil {
		b.Fatal(err)
	}
	fields := [][]byte{[]byte("A208848994"), []byte("59C1A1FDCBBE01ECE053C5013807B6BE")}
	dst := make([]byte, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		fields[0][5]++ // no two keys in a row are alike
		if fields[0][5] > '9' {
			fields[0][5] = '0'
		}
		if _, err := p.Append(dst, fields); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}
