package celltype

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"pgregory.net/rapid"
)

func converterOf(t testing.TB, c Type) Converter {
	t.Helper()
	convert, err := c.Converter()
	if err != nil {
		t.Fatal(err)
	}
	return convert
}

// TestPhoenixBytes compares converted texts with the bytes of Phoenix 5.1.3 for the same texts.
func TestPhoenixBytes(t *testing.T) {
	b, err := os.ReadFile("testdata/phoenix.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		c := Type{Type: f[0], Encoding: "phoenix"}
		if f[0] == "date" || f[0] == "timestamp" {
			c.Layout = "yyyy-MM-dd HH:mm:ss.SSSSSSSSS"
		}
		got, err := converterOf(t, c)([]byte("x"), []byte(f[1]))
		if err != nil || hex.EncodeToString(got) != "78"+f[2] {
			t.Errorf("%s %s: %x, %v, want %s", f[0], f[1], got, err, f[2])
		}
	}
}

// TestHBaseBytes compares converted texts with the bytes of HBase's own class Bytes.
func TestHBaseBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a JVM and HBase's jars")
	}
	cluster := testcluster.Shared(t)
	texts := map[string][]string{
		"short": {"0", "-1", "32767", "-32768", "+7"}, "int": {"0", "-1", "2147483647", "-2147483648", "0012"},
		"long":    {"0", "-1", "9223372036854775807", "-9223372036854775808"},
		"float":   {"0", "-0", "1.5", "3.4028235E38", "1E-45", "1e-60", "NaN", "Infinity", "-Infinity", ".5", "5.", "16777217", "0.1"},
		"double":  {"0", "-0", "1.5", "1.7976931348623157E308", "4.9E-324", "1e-400", "NaN", "Infinity", "-Infinity", "-.5", "9007199254740993"},
		"boolean": {"true", "false", "TRUE"},
		"decimal": {"0", "-0", "0.00", "1", "-1", "127", "128", "-128", "-129", "255", "256", "-256", "-32768", "1E+10", "1.5e-3", ".5", "5.", "-.05",
			"00012.3400", "123456789012345678901234567890.123456789", "1e2147483647", "-18446744073709551616", "-4294967296", "4294967296"},
	}
	digits := rapid.StringMatching(`[+-]?[0-9]{1,60}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4})?`)
	number := rapid.StringMatching(`[+-]?[0-9]{1,20}\.[0-9]{1,20}([eE][+-]?[0-9])?`)
	for i := range 300 {
		texts["decimal"] = append(texts["decimal"], digits.Example(i))
		texts["double"] = append(texts["double"], number.Example(i))
		texts["float"] = append(texts["float"], number.Example(i))
		v := rapid.Int64().Example(i)
		texts["long"] = append(texts["long"], fmt.Sprint(v))
		texts["int"] = append(texts["int"], fmt.Sprint(int32(v)))
		texts["short"] = append(texts["short"], fmt.Sprint(int16(v)))
	}
	var in bytes.Buffer
	var asked [][2]string
	for typ, list := range texts {
		for _, s := range list {
			asked = append(asked, [2]string{typ, s})
			fmt.Fprintf(&in, "%s\t%s\n", typ, s)
		}
	}
	out := testcheck.Java(t, &in, "-cp", filepath.Join(cluster.LibDir(), "*"), "testdata/CellBytes.java")
	answers := strings.Fields(string(out))
	if len(answers) != len(asked) {
		t.Fatalf("%d answers to %d questions", len(answers), len(asked))
	}
	for i, a := range asked {
		got, err := converterOf(t, Type{Type: a[0]})(nil, []byte(a[1]))
		if err != nil || hex.EncodeToString(got) != answers[i] {
			t.Errorf("%s %s: %x, %v, Java has %s", a[0], a[1], got, err, answers[i])
		}
	}
}

// TestHBaseDecimal compares decimals with big integers, which needs no JVM.
func TestHBaseDecimal(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,99}`).Draw(rt, "digits")
		n, _ := new(big.Int).SetString(text, 10)
		scale := rapid.Int32Range(-math.MaxInt32, math.MaxInt32).Draw(rt, "scale")
		got, err := appendHBaseDecimal(nil, fmt.Appendf(nil, "%se%d", text, -int64(scale)))
		if err != nil {
			rt.Fatal(err)
		}
		bits := n.BitLen()
		if n.Sign() < 0 {
			bits = new(big.Int).Not(n).BitLen()
		}
		want := make([]byte, bits/8+1)
		whole := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*len(want))), big.NewInt(1)))
		whole.FillBytes(want)
		if s := int32(uint32(got[0])<<24 | uint32(got[1])<<16 | uint32(got[2])<<8 | uint32(got[3])); s != scale || !bytes.Equal(got[4:], want) {
			rt.Fatalf("%s: %x, want scale %d and %x", text, got, scale, want)
		}
	})
}

// TestPhoenixOrder checks that bytes of Phoenix's types sort like their values.
func TestPhoenixOrder(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		a, b := rapid.Float64().Draw(rt, "a"), rapid.Float64().Draw(rt, "b")
		m, n := rapid.Int64().Draw(rt, "m"), rapid.Int64().Draw(rt, "n")
		for typ, pair := range map[string][3]any{"double": {a, b, a < b}, "long": {m, n, m < n}, "decimal": {m, n, m < n}} {
			convert, _ := Type{Type: typ, Encoding: "phoenix"}.Converter()
			x, err1 := convert(nil, fmt.Append(nil, pair[0]))
			y, err2 := convert(nil, fmt.Append(nil, pair[1]))
			if err := errors.Join(err1, err2); err != nil {
				rt.Fatal(err)
			}
			if pair[0] != pair[1] && (bytes.Compare(x, y) < 0) != pair[2] {
				rt.Fatalf("%s: %v has %x, %v has %x", typ, pair[0], x, pair[1], y)
			}
		}
	})
}

func TestDates(t *testing.T) {
	for _, c := range []struct {
		typ, layout, zone, text, want string
	}{
		{"date", "", "", "2017-01-01", "2017-01-01T00:00:00Z"},
		{"timestamp", "", "Asia/Shanghai", "2017-01-01 01:01:01", "2016-12-31T17:01:01Z"},
		{"timestamp", "", "", "2017-01-01 01:01:01.5", "2017-01-01T01:01:01.5Z"},
		{"timestamp", "", "", "2017-01-01 01:01:01.250000", "2017-01-01T01:01:01.25Z"},
		{"timestamp", "", "", "1969-12-31 23:59:59.999", "1969-12-31T23:59:59.999Z"},
		{"timestamp", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "", "2017-01-01T01:01:01.250+08:00", "2016-12-31T17:01:01.25Z"},
		{"timestamp", "d.M.yyyy", "Europe/Berlin", "1.7.2020", "2020-06-30T22:00:00Z"},
		{"timestamp", "yyyyMMddHHmmss", "", "20150524002300", "2015-05-24T00:23:00Z"},
		{"date", "unix", "", "1483203661", "2016-12-31T17:01:01Z"},
		{"date", "unixms", "", "-1", "1969-12-31T23:59:59.999Z"},
		{"date", "yyyy-MM", "", "2017-02", "2017-02-01T00:00:00Z"},
		{"timestamp", "yyyy-MM-dd HH:mm:ss[.SSS]", "", "2017-01-01 01:01:01", "2017-01-01T01:01:01Z"},
		{"timestamp", "yyyy-MM-dd HH:mm:ss[.SSS]", "", "2017-01-01 01:01:01.123456", "2017-01-01T01:01:01.123456Z"},
		{"timestamp", "'day 'd.M.yyyy' at 'H:m", "", "day 1.7.2020 at 9:05", "2020-07-01T09:05:00Z"},
		{"timestamp", "", "Europe/Berlin", "2020-03-29 02:30:00", "2020-03-29T01:30:00Z"}, // skipped by the clock
		{"timestamp", "", "Europe/Berlin", "2020-10-25 02:30:00", "2020-10-25T00:30:00Z"}, // shown twice by the clock
	} {
		got, err := converterOf(t, Type{Type: c.typ, Layout: c.layout, Zone: c.zone})(nil, []byte(c.text))
		at, _ := time.Parse(time.RFC3339Nano, c.want)
		if want := appendMillis(nil, at.UnixMilli(), false); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s %s: %x, %v, want %x", c.layout, c.text, got, err, want)
		}
	}
}

// TestConversionErrors checks the errors for texts that are not values of their type, and for invalid types.
func TestConversionErrors(t *testing.T) {
	for _, c := range []struct{ typ, encoding, layout, text, want string }{
		{"int", "", "", "12x", `value of 3 bytes is not a whole number (type int)`},
		{"int", "", "", "2147483648", "is out of range"},
		{"short", "", "", "-32769", "is out of range"},
		{"long", "", "", "9223372036854775808", "is out of range"},
		{"long", "", "", "99999999999999999999999", "is out of range"},
		{"long", "", "", "-", "is not a whole number"},
		{"long", "", "", " 1", "is not a whole number"},
		{"float", "", "", "1e39", "is out of range"},
		{"double", "", "", "0x10", "is not a number"},
		{"double", "", "", "1_000", "is not a number"},
		{"double", "", "", "inf", "is not a number"},
		{"boolean", "", "", "maybe", "is invalid: want true, false"},
		{"boolean", "", "", "yeſ", "is invalid: want true, false"},
		{"boolean", "", "", "falſe", "is invalid: want true, false"},
		{"boolean", "", "", "falses", "is invalid: want true, false"},
		{"boolean", "", "", "", "is invalid: want true, false"},
		{"decimal", "", "", ".", "is not a decimal number"},
		{"decimal", "", "", "1.2.3", "is not a decimal number"},
		{"decimal", "", "", "1e", "has an exponent"},
		{"decimal", "", "", strings.Repeat("9", 1001), "more than 1000 digits"},
		{"decimal", "phoenix", "", strings.Repeat("9", 39), "more than 38 digits"},
		{"decimal(18,2)", "", "", "1.234", "has more than 2 digits after the point (type decimal(18,2))"},
		{"decimal(18,2)", "", "", "1e-3", "has more than 2 digits after the point"},
		{"decimal(4,2)", "", "", "123", "has more than 4 digits with 2 after the point"},
		{"decimal(4,2)", "phoenix", "", "1e2147483647", "has more than 4 digits"},
		{"decimal(4,2)", "", "", "x", "is not a decimal number"},
		{"decimal", "phoenix", "", "1e200", "is out of range"},
		{"date", "", "", "2017-02-29", `value of 10 bytes is not a date of the layout yyyy-MM-dd`},
		{"timestamp", "", "", "2017-02-28 10:00:00.", "is not a date"},
		{"timestamp", "", "", "2017-02-28 10:00:00,5", "is not a date"},
		{"timestamp", "", "", "2017-02-28 10:00:00.1234", "is finer than a millisecond: a layout with [.SSS] cuts"},
		{"timestamp", "", "", "2017-02-28 10:00:00.000000001", "is finer than a millisecond"},
		{"date", "", "unix", "99999999999999999", "is a number out of range"},
	} {
		_, err := converterOf(t, Type{Type: c.typ, Encoding: c.encoding, Layout: c.layout})(nil, []byte(c.text))
		if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.typ, c.text, err, c.want)
		}
	}
	for want, c := range map[string]Type{
		"want one of text":       {Type: "number"},
		"of 1 to 38 digits":      {Type: "decimal(39,2)"},
		"write decimal(18,2)":    {Type: "decimal(2,3)"},
		`"decimal(18)" is no`:    {Type: "decimal(18)"},
		`"decimal(8,2" is no`:    {Type: "decimal(8,2"},
		`"decimal(,)" is no`:     {Type: "decimal(,)"},
		`"int(4)" is invalid`:    {Type: "int(4)"},
		"want hbase":             {Type: "int", Encoding: "avro"},
		"are only for the types": {Type: "int", Layout: "unix"},
		`has "YYYY"`:             {Type: "date", Layout: "YYYY-MM-dd"},
		`has "DD"`:               {Type: "date", Layout: "yyyy-MM-DD"},
		"has days but no month":  {Type: "date", Layout: "yyyy dd"},
		"not closed":             {Type: "date", Layout: "yyyy-MM-dd'T"},
		`zone "Mars" is not`:     {Type: "date", Zone: "Mars"},
		`has a digit`:            {Type: "date", Layout: "yyyy1MMdd"},
	} {
		if _, err := c.Converter(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for i, s := range []string{"1", "-1.5e3", "true", "2017-01-01", "99999999999999999999"} {
		f.Add(i, []byte(s))
	}
	types := strings.Split(Names, ", ")[1:]
	f.Fuzz(func(t *testing.T, n int, text []byte) {
		for _, encoding := range []string{"hbase", "phoenix"} {
			convert, _ := Type{Type: types[uint(n)%uint(len(types))], Encoding: encoding}.Converter()
			got, err := convert([]byte("x"), text)
			if err == nil && (len(got) < 2 || got[0] != 'x') {
				t.Errorf("%q: %x", text, got)
			}
		}
	})
}

func TestJSONText(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\/\x00-\x1fa-z]*`)).Draw(rt, "s")
		b, err := AppendJSON(nil, []byte(s))
		var back string
		if err != nil || json.Unmarshal(b, &back) != nil || back != s {
			rt.Fatalf("%q: %s, %v", s, b, err)
		}
	})
	if _, err := AppendJSON(nil, []byte("a\xff")); err == nil {
		t.Error("invalid UTF-8 is taken")
	}
}

func TestConvertDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 256)
	for typ, text := range map[string]string{"int": "-123", "long": "1483203661000", "float": "1.5", "double": "-123456.789", "boolean": "true",
		"decimal": "12345678901234567890.123", "date": "2017-01-01", "timestamp": "2017-01-01 01:01:01"} {
		for _, encoding := range []string{"hbase", "phoenix"} {
			convert := converterOf(t, Type{Type: typ, Encoding: encoding})
			b := []byte(text)
			if n := testing.AllocsPerRun(100, func() {
				if _, err := convert(buf, b); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%s in %s: %v allocations", typ, encoding, n)
			}
		}
	}
}
