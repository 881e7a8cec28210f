package keygen

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// examples returns calls of every function with their results. The digests are those of md5sum, sha1sum, sha256sum and
// zlib; murmur3 is that of HBase's class.
func examples() []example {
	const user = "TheRealMT"
	r := map[string]string{"s": "A208848994", "u": user, "t": "1483203661000", "d": "2017-01-01 01:01:01", "p": "13812345678",
		"cn": "订单😀1", "e": "", "sp": " \tx y\r\n", "n": "-42", "h": "00fFaB", "neg": "polygenelubricants", "z": "007"}
	list := [][2]string{
		{"salt(s, 10)", "9"}, {"salt(s, 1000)", "609"}, {"salt(neg, 50)", "48"}, {"salt(s)", "02"}, {"salt(s, 1)", "0"},
		{"bytesalt(s, 10)", "\x09"}, {"bytesalt(neg, 256)", "\x00"}, {"bytesalt(s)", "\x02"},
		{"javasalt(s, 10)", "\x09"}, {"javasalt(neg, 256)", "\x00"}, {"javasalt(neg, 10)", "\xf8"},
		{"spread(s)", "69"}, {"spread(s, 16)", "01"},
		{"md5hex(s)", "1dbdebfbc84bad48d92aa7c045019e8d"}, {"md5raw(u)", "\x21\x2d\xc2\x6b\x62\x46\xfa\xd4\xd2\xcb\x37\x40\xfc\x25\x86\x6f"},
		{"sha1hex('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"}, {"hex(sha1raw('abc'))", "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"sha256hex('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"hex(sha256raw('abc'))", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"crc32hex('123456789')", "cbf43926"}, {"crc32raw('123456789')", "\xcb\xf4\x39\x26"}, {"crc32('123456789')", "3421780262"},
		{"murmur3hex('hello')", "248bfa47"}, {"murmur3raw('hello')", "\x24\x8b\xfa\x47"}, {"murmur3('hello')", "613153351"},
		{"murmur3hex('The quick brown fox jumps over the lazy dog')", "2e4ff723"}, {"murmur3hex('hello, world')", "149bbb7f"},
		{"md5shift('10001')", "6c4f9d1"}, {"md5shift('订单')", "2608bf9"},
		{"hash(s)", "1797210609"}, {"hash(neg)", "-2147483648"}, {"hash(s, '-', u)", "-932867430"},
		{"longhash(t)", "1439944081"}, {"toshort(longhash(t))", "-12911"}, {"mod(toshort(longhash(t)), 9)", "-5"},
		{"mod(hash(neg), 10)", "-8"}, {"abs(mod(hash(neg), 10))", "8"}, {"abs(hash(neg))", "2147483648"}, {"abs(n)", "42"}, {"mod(n, 5)", "-2"},
		{"number(z)", "7"}, {"number(n)", "-42"},
		{"millis(d, 'yyyy-MM-dd HH:mm:ss', 'Asia/Shanghai')", "1483203661000"}, {"millis(d, 'yyyy-MM-dd HH:mm:ss')", "1483232461000"},
		{"millis('2017', 'yyyy')", "1483228800000"}, {"millis('20170101T010101.5', \"yyyyMMdd'T'HHmmss[.SSS]\")", "1483232461500"},
		{"millis('2017-1-1 1:1:1', 'yyyy-M-d H:m:s')", "1483232461000"}, {"millis('2017-01-01T01:01:01+08:00', \"yyyy-MM-dd'T'HH:mm:ssXXX\")", "1483203661000"},
		{"millis('1483203661', 'unix')", "1483203661000"}, {"millis(t, 'unixms')", "1483203661000"},
		{"revtime(t)", "9223370553651114807"}, {"revtime('0')", "9223372036854775807"}, {"revtime('9223372036854775807')", "0000000000000000000"},
		{"revtime(millis(d, 'yyyy-MM-dd HH:mm:ss', 'Asia/Shanghai'))", "9223370553651114807"},
		{"revtimeraw(t)", "\x7f\xff\xfe\xa6\xaa\x2c\x33\x37"},
		{"intbytes(n)", "\xff\xff\xff\xd6"}, {"longbytes(n)", "\xff\xff\xff\xff\xff\xff\xff\xd6"}, {"longbytes(t)", "\x00\x00\x01\x59\x55\xd3\xcc\xc8"},
		{"date(d, 'yyyy-MM-dd HH:mm:ss', 'yyyyMMddHHmmss')", "20170101010101"}, {"date(t, 'unixms', 'yyyy-MM-dd HH:mm:ss.SSS XXX', 'Asia/Shanghai')", "2017-01-01 01:01:01.000 +08:00"},
		{"date(d, 'yyyy-MM-dd HH:mm:ss', 'unix', 'Asia/Shanghai')", "1483203661"}, {"date('-1', 'unixms', 'yyyyMMddHHmmssSSS')", "19691231235959999"},
		{"pad(n, 5)", "00-42"}, {"pad(abs(mod(hash(s), 1000)), 3)", "609"}, {"pad(t, 13)", "1483203661000"},
		{"reverse(p)", "87654321831"}, {"reverse(cn)", "1😀单订"},
		{"substr(cn, 1, 2)", "单😀"}, {"substr(p, -4)", "5678"}, {"substr(p, 7)", "5678"}, {"substr(p, -4, 2)", "56"}, {"substr(p, 0, 3)", "138"},
		{"upper('aé订z')", "AÉ订Z"}, {"lower('AÉ订Z')", "aé订z"}, {"trim(sp)", "x y"}, {"trim(orempty(e)) + s", "A208848994"},
		{"hex(cn)", "e8aea2e58d95f09f988031"}, {"unhex(h)", "\x00\xff\xab"}, {"orempty(e) + s", "A208848994"}, {"orempty(s)", "A208848994"},
	}
	var out []example
	for _, l := range list {
		out = append(out, example{spec: l[0], want: l[1], record: r})
	}
	return out
}

type example struct {
	spec, want string
	record     map[string]string
}

type exampleRow = map[string]string

func TestFunctions(t *testing.T) {
	var all strings.Builder
	for _, x := range examples() {
		all.WriteString(x.spec + "\n")
		got, err := key(t, x.spec, 17, x.record)
		if err != nil || got != x.want {
			t.Errorf("%s is %q, %v, want %q", x.spec, got, err, x.want)
		}
	}
	for _, f := range functions() {
		if !strings.Contains(all.String(), f.name+"(") {
			t.Errorf("function %s has no example", f.name)
		}
	}
}

// TestShapesHold compares the predicted properties of keys with real keys.
func TestShapesHold(t *testing.T) {
	for _, x := range examples() {
		e, _ := Parse(x.spec)
		r, err := Check(e, CheckOptions{Regions: 17})
		if err != nil {
			t.Fatal(err)
		}
		if len(x.want) < r.Min || len(x.want) > r.Max || !r.First.Has(x.want[0]) {
			t.Errorf("%s gives %q, but is to have %d to %d bytes and start with %s", x.spec, x.want, r.Min, r.Max, r.First)
		}
	}
}

// TestNothingAllocates checks that no function allocates.
func TestNothingAllocates(t *testing.T) {
	for _, x := range examples() {
		p, fields := program(t, x)
		dst := make([]byte, 0, 200)
		if n := testing.AllocsPerRun(50, func() { dst, _ = p.Append(dst[:0], fields) }); n != 0 {
			t.Errorf("%s: %v allocations a key", x.spec, n)
		}
	}
}

// TestZonesDoNotAllocate checks conversions around a clock change.
func TestZonesDoNotAllocate(t *testing.T) {
	p, fields := program(t, example{spec: "revtime(millis(a, 'yyyyMMdd', 'America/New_York')) + date(a, 'yyyyMMdd', 'unix', 'Europe/London')"})
	dst := make([]byte, 0, 200)
	days := [][]byte{[]byte("20170101"), []byte("20170701"), []byte("20170326"), []byte("20171105")}
	i := 0
	n := testing.AllocsPerRun(100, func() {
		fields[0] = days[i%len(days)]
		i++
		if _, err := p.Append(dst, fields); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a key", n)
	}
}

// TestTextsAsPlain compares functions of text with simple implementations that use slices of runes and package strings.
func TestTextsAsPlain(t *testing.T) {
	mapped := func(fn func(rune) rune) func(string, int, int) (string, bool) {
		return func(s string, _, _ int) (string, bool) { return strings.Map(fn, s), s != "" }
	}
	plain := map[string]func(s string, from, count int) (string, bool){
		"upper(a)": mapped(unicode.ToUpper), "lower(a)": mapped(unicode.ToLower),
		"trim(a)": func(s string, _, _ int) (string, bool) {
			s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
			return s, s != ""
		},
		"substr(a, %d, %d)": func(s string, from, count int) (string, bool) {
			r := []rune(s)
			if from < 0 {
				from += len(r)
			}
			if from < 0 || from+count > len(r) {
				return "", false
			}
			return string(r[from : from+count]), true
		},
		"substr(a, %d)": func(s string, from, _ int) (string, bool) {
			r := []rune(s)
			if from < 0 {
				from += len(r)
			}
			if from < 0 || from >= len(r) {
				return "", false
			}
			return string(r[from:]), true
		},
		"unhex(hex(a))": func(s string, _, _ int) (string, bool) { return s, s != "" },
		"pad(a, %[2]d)": func(s string, _, width int) (string, bool) {
			return strings.Repeat("0", max(0, width-len(s))) + s, s != "" && len(s) <= width
		},
	}
	testcheck.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		from, count := rapid.IntRange(-8, 8).Draw(t, "from"), rapid.IntRange(1, 8).Draw(t, "count")
		form := rapid.SampledFrom(slices.Sorted(maps.Keys(plain))).Draw(t, "function")
		spec := form
		switch strings.Count(form, "%") {
		case 1:
			spec = strings.NewReplacer("%d", fmt.Sprint(from), "%[2]d", fmt.Sprint(count)).Replace(form)
		case 2:
			spec = fmt.Sprintf(form, from, count)
		}
		e, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Append(nil, [][]byte{[]byte(s)})
		want, ok := plain[form](s, from, count)
		if ok != (err == nil) || ok && string(got) != want {
			t.Fatalf("%s of %q is %q, %v, want %q, %v", spec, s, got, err, want, ok)
		}
	})
}

func program(t testing.TB, x example) (*Program, [][]byte) {
	t.Helper()
	e, err := Parse(x.spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Options{Regions: 17})
	if err != nil {
		t.Fatal(err)
	}
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, []byte(x.record[c]))
	}
	return p, fields
}

func BenchmarkFunctions(b *testing.B) {
	for _, x := range examples() {
		b.Run(x.spec, func(b *testing.B) {
			p, fields := program(b, x)
			dst := make([]byte, 0, 200)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = p.Append(dst[:0], fields)
			}
		})
	}
}

// TestRecipes checks every named design against its vector.
func TestRecipes(t *testing.T) {
	const id = "59C1A1FDCBBE01ECE053C5013807B6BE"
	const md5 = "1dbdebfbc84bad48d92aa7c045019e8d"
	check := exampleRow{"check_id": "A208848994", "id": id}
	opinion := exampleRow{"buss_no": "BN20170901001", "business_type": "02", "id": id}
	time := exampleRow{"time": "2017-01-01 01:01:01", "order_no": "364758", "event_id": "login", "offset": "42", "ts": "1483203661000"}
	follows := exampleRow{"user": "TheRealMT", "followed": "a"}
	const a, theRealMT = "0cc175b9c0f1b6a831c399e269772661", "212dc26b6246fad4d2cb3740fc25866f"
	twit := "\x21\x2d\xc2\x6b\x62\x46\xfa\xd4\xd2\xcb\x37\x40\xfc\x25\x86\x6f\x7f\xff\xfe\xa6\xaa\x2c\x33\x37"
	tested := map[string]bool{}
	for _, c := range []struct {
		name    string
		regions int
		record  exampleRow
		want    string
	}{
		{"check", 10, check, "9" + md5 + id}, {"check", 3, check, "0" + md5 + id},
		{"check", 50, check, "09" + md5 + id}, {"check", 1000, check, "609" + md5 + id},
		{"check-separated", 10, check, "9+" + md5 + "+" + id},
		{"opinion", 50, opinion, "09e6c6bfafd450186cb57a3ac0eec72f6b" + id},
		{"plain", 0, check, "A208848994" + id},
		{"salted", 0, exampleRow{"key": "20150524002300_1232"}, "20320150524002300_1232"},
		{"bytesalted", 0, exampleRow{"key": "A208848994"}, "\x01A208848994"},
		{"javasalted", 0, exampleRow{"key": "A208848994"}, "\x01A208848994"}, {"javasalted", 0, exampleRow{"key": "贷款申请001"}, "\xf6贷款申请001"},
		{"md5split", 0, exampleRow{"id": "10001"}, "6c4f9d1::10001"}, {"md5split", 0, exampleRow{"id": "user42"}, "7ec344e::user42"},
		{"md5split", 0, exampleRow{"id": "订单"}, "2608bf9::订单"},
		{"fields-hash", 0, time, "14_20170101010101_364758"},
		{"latest-first", 0, time, "8574639223370553651114807"},
		{"phone", 0, exampleRow{"phone": "13812345678"}, "87654321831"}, {"phone", 0, exampleRow{"phone": "订单😀1"}, "1😀单订"},
		{"time-salted", 0, time, "5|1483203661000"},
		{"events", 0, time, "63login2017010142"},
		{"users", 0, follows, "TheRealMT"},
		{"twits", 0, exampleRow{"user": "TheRealMT", "ts": "1483203661000"}, twit},
		{"stream", 0, exampleRow{"user": "TheRealMT", "ts": "1483203661000"}, twit},
		{"follows", 0, follows, theRealMT + a},
		{"followed-by", 0, follows, a + theRealMT},
	} {
		tested[c.name] = true
		r, ok := FindRecipe(c.name)
		if !ok {
			t.Fatalf("no recipe %s", c.name)
		}
		got, err := key(t, r.Spec, c.regions, c.record)
		if err != nil || got != c.want {
			t.Errorf("%s: %s with %d regions is %q, %v, want %q", r.Name, r.Spec, c.regions, got, err, c.want)
		}
	}
	for _, r := range Recipes() {
		if !tested[r.Name] {
			t.Errorf("recipe %s has no vector", r.Name)
		}
	}
}

func TestBadValues(t *testing.T) {
	for _, c := range []struct {
		spec, value string
		want        error
		says        string
	}{
		{"salt(v) + 'x'", "", ErrEmpty, "column v: key column is empty (in the key's part salt(v))"},
		{"v", "", ErrEmpty, "column v: key column is empty"},
		{"reverse(v)", "\xff", ErrUTF8, "reverse(v)"},
		{"salt(unhex(v))", "ff", ErrUTF8, "column v"},
		{"md5hex('a' + trim(v))", " \t", ErrEmpty, "md5hex('a' + trim(v))"},
		{"revtime(v)", "12x", ErrNumber, `value of 3 bytes is not a whole number (in the key's part revtime(v))`},
		{"revtime(v)", "9223372036854775808", ErrRange, "64 bits"},
		{"revtime(v)", "99999999999999999999999999", ErrRange, "64 bits"},
		{"revtime(v)", "-1", ErrRange, "column v: value of 2 bytes is a time in ms before 1970"},
		{"intbytes(v)", "2147483648", ErrRange, "column v: value of 10 bytes is a number out of range of 32 bits"},
		{"abs(v)", "-9223372036854775808", ErrRange, "abs"},
		{"number(v)", "-", ErrNumber, `value of 1 byte is`},
		{"millis(v, 'yyyy-MM-dd')", "2017-02-29", ErrDate, `value of 10 bytes is not a date of the layout yyyy-MM-dd`},
		{"millis(v, 'yyyy-MM-dd')", "2017-02-28 ", ErrDate, ""},
		{"millis(v, 'yyyy-MM-dd')", "2017-2-28", ErrDate, ""},
		{"date(v, 'yyyy-MM-dd HH:mm', 'yyyy')", "2017-02-28 24:00", ErrDate, ""},
		{"date(v, 'unix', 'yyyy')", "99999999999999", ErrRange, "years"},
		{"date(v, 'unix', 'yyyy')", "9223372036854775807", ErrRange, ""},
		{"substr(v, 0, 3)", "ab", ErrShort, `it has only 2 characters`},
		{"substr(v, 2)", "ab", ErrShort, ""},
		{"substr(v, -3)", "ab", ErrShort, ""},
		{"pad(v, 2)", "abc", ErrWide, "too long for its width of 2 bytes"},
		{"unhex(v)", "abc", ErrHex, ""}, {"unhex(v)", "xy", ErrHex, ""},
		{"hex(hex(hex(hex(v))))", strings.Repeat("x", 3000), ErrLong, ""},
		{"v + v", strings.Repeat("x", MaxKey/2+1), ErrLong, "it has 32768"},
	} {
		_, err := key(t, c.spec, 10, map[string]string{"v": c.value})
		if _, ok := errors.AsType[*FieldError](err); !ok || !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s of %.40q: error %v, want %v and %q", c.spec, c.value, err, c.want, c.says)
		}
	}
	// bytes that are not characters are bytes all the same
	for _, spec := range []string{"v", "md5hex(v)", "trim(v)", "hex(v)", "murmur3(v)", "pad(v, 9)", "orempty(v)", "spread(v)"} {
		if _, err := key(t, spec, 10, map[string]string{"v": "\xff"}); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestHints(t *testing.T) {
	for spec, want := range map[string]string{
		"slat(a)":                        `position 1: unknown function "slat" (did you mean salt?)`,
		"md5(a)":                         "did you mean md5hex or md5raw or md5shift?",
		"a + substring(a, 1)":            `position 5: unknown function "substring" (did you mean substr?)`,
		"MD5HEX(a)":                      "did you mean md5hex?",
		"frobnicate(a)":                  "known: salt, bytesalt",
		"a + reverse(a, b)":              "position 16: reverse(e) takes one argument, not 2 (join them with +)",
		"millis(d)":                      "it is written millis(e, 'layout' [, 'zone'])",
		"millis(d, 'DD.MM.YYYY')":        `position 11: the layout "DD.MM.YYYY" has "DD"`,
		"millis(d, 'yyyy', 'Mars')":      `position 19: the zone "Mars" is not known`,
		"millis(d, 'yyyy', 'Local')":     "depends on the machine",
		"millis(d, layout)":              "layout is not a text in quotes",
		"millis(d, '2006-01-02')":        "write it in letters",
		"millis(d, 'yyyy-yyyy')":         "y twice",
		"millis(d, 'MM-dd')":             "no year",
		"date(d, 'yyyy', 'yyyy[.SSS]')":  "position 17: a fraction that may be missing can only be read",
		"pad(hash(a), 10)":               "position 5: hash(a) can be negative, which zeros cannot pad: write abs(hash(a))",
		"pad(abs(mod(hash(a), 1000)),2)": "can have 3 digits, more than the width 2",
		"mod(a, 0)":                      "position 8: 0 is outside 1..",
		"bytesalt(a, 257)":               "257 is outside 1..256",
		"javasalt(a, 257)":               "257 is outside 1..256",
		"orempty(upper(a))":              "orempty takes a column, not upper(a)",
		"substr(a)":                      "substr(e, from [, count])",
		"substr(a, 0, 0)":                "position 14: 0 is outside",
		"a % b":                          `position 3: unexpected "% b" (parts are joined by +)`,
	} {
		_, err := Parse(spec)
		if _, ok := errors.AsType[*SyntaxError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

func TestAppendParts(t *testing.T) {
	p, fields := program(t, example{spec: "salt(a) + '|' + a", record: exampleRow{"a": "x"}})
	got, ends, err := p.AppendParts([]byte("k:"), nil, fields)
	if err != nil || !bytes.Equal(got, []byte("k:01|x")) || fmt.Sprint(ends) != "[2 3 4]" {
		t.Errorf("%q %v %v", got, ends, err)
	}
}

// TestMurmur3 compares hashes with those of org.apache.hadoop.hbase.util.MurmurHash3 (HBase 2.6.4) with the initial
// values 0 and -1.
func TestMurmur3(t *testing.T) {
	for s, want := range map[string][2]int32{
		"": {0, -2114883783}, "a": {1009084850, 711476519}, "ab": {-1681926305, -1350713883}, "abc": {-1277324294, -58670417},
		"abcd": {1139631978, 729662808}, "hello": {613153351, 595297739}, "订单😀1": {-1793167648, 838777353},
		"The quick brown fox jumps over the lazy dog": {776992547, 590642366}, "A208848994": {-520254127, 1031128352},
	} {
		if got := [2]int32{murmur3([]byte(s), 0), murmur3([]byte(s), 1<<32-1)}; got != want {
			t.Errorf("murmur3 of %q is %d, want %d", s, got, want)
		}
	}
}

// FuzzKey runs any spec on any value, and checks that nothing panics and that keys have the predicted length.
func FuzzKey(f *testing.F) {
	for _, x := range examples() {
		f.Add(x.spec, []byte("2017-01-01 01:01:01"))
	}
	f.Fuzz(func(t *testing.T, spec string, value []byte) {
		e, err := Parse(spec)
		if err != nil || len(value) > MaxKey {
			return
		}
		o := Options{Regions: 17}
		p, err := Compile(e, o)
		if err != nil {
			t.Fatalf("%s parses and does not compile: %v", spec, err)
		}
		fields := make([][]byte, len(p.Columns()))
		for i := range fields {
			fields[i] = value
		}
		one, err := p.Append(nil, fields)
		if err != nil {
			if _, ok := errors.AsType[*FieldError](err); !ok {
				t.Fatalf("%s of %q: %v is not a FieldError", spec, value, err)
			}
			return
		}
		r, err := Check(e, CheckOptions{Regions: 17, Unique: "a", Splits: [][]byte{[]byte("1"), []byte("abc")}})
		if err != nil {
			t.Fatal(err)
		}
		if len(one) < r.Min || len(one) > r.Max || len(one) > 0 && !r.First.Has(one[0]) {
			t.Fatalf("%s of %q is %q, predicted %d to %d bytes, first of %s", spec, value, one, r.Min, r.Max, r.First)
		}
		two, err := p.Append([]byte("x"), fields)
		if err != nil || string(two) != "x"+string(one) {
			t.Fatalf("%s of %q is %q and then %q, %v", spec, value, one, two, err)
		}
	})
}

// TestAppendPartsFails checks that a record without a key leaves key and ends as they were.
func TestAppendPartsFails(t *testing.T) {
	e, err := Parse("a + b")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dst, ends, err := p.AppendParts([]byte("k:"), []int{7}, [][]byte{[]byte("x"), nil})
	if err == nil || string(dst) != "k:" || len(ends) != 1 {
		t.Errorf("%q, %v, %v", dst, ends, err)
	}
}
