package dialect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPresets checks that all presets are valid dialects.
func TestPresets(t *testing.T) {
	for _, name := range Separated() {
		d, err := Preset(name)
		if err != nil || d.Name != name {
			t.Errorf("%s: %+v, %v", name, d, err)
			continue
		}
		if err := d.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !d.Cuttable() {
			t.Errorf("%s cannot be cut", name)
		}
	}
	if _, err := Preset("informix"); err == nil || !strings.Contains(err.Error(), "mysql-csv") {
		t.Errorf("%v does not name the presets", err)
	}
}

// TestCheck checks that ambiguous dialects are rejected.
func TestCheck(t *testing.T) {
	base := func(name string, change func(*Dialect)) Dialect {
		d, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		change(&d)
		return d
	}
	for _, c := range []struct {
		d    Dialect
		want string
	}{
		{base(CSV, func(d *Dialect) { d.FieldSep = "" }), "field_sep: it has 0 bytes"},
		{base(CSV, func(d *Dialect) { d.FieldSep = "123456789" }), "field_sep: it has 9 bytes"},
		{base(Dump, func(d *Dialect) { d.RecordSep = strings.Repeat("x", 9) }), "record_sep: it has 9 bytes"},
		{base(CSV, func(d *Dialect) { d.FieldSep = "\n" }), "same bytes"},
		{base(CSV, func(d *Dialect) { d.FieldSep = "\r" }), "same bytes"},
		{base(Hive, func(d *Dialect) { d.FieldSep, d.RecordSep = "#", "#@#" }), "begin alike"},
		{base(Hive, func(d *Dialect) { d.FieldSep, d.RecordSep = "#@#", "#" }), "begin alike"},
		{base(CSV, func(d *Dialect) { d.FieldSep = `"` }), "quote: \" stands in a separator"},
		{base(MySQLText, func(d *Dialect) { d.FieldSep = `|\` }), "escape: \\ stands in a separator"},
		{base(MySQLCSV, func(d *Dialect) { d.Escape = `"` }), "escape: it is the quote"},
		{base(Hive, func(d *Dialect) { d.NullQuoted = true }), "quote: there is none"},
		{base(CSV, func(d *Dialect) { d.QuotedOnly = true }), "escape: there is none"},
		{base(CSV, func(d *Dialect) { d.Lenient = true }), "quotes: quotes are doubled or lenient"},
		{base(CSV, func(d *Dialect) { d.Map = "c" }), "escape_map"},
		{base(CSV, func(d *Dialect) { d.Header = "perhaps" }), "header"},
		{base(CSV, func(d *Dialect) { d.Trim = "all" }), "trim"},
		{base(CSV, func(d *Dialect) { d.Null = []string{"-", "-"} }), "null: - stands twice"},
		{base(CSV, func(d *Dialect) { d.Null = []string{"a,b"} }), "null: a,b has a separator"},
		{base(CSV, func(d *Dialect) { d.Null = []string{`"`} }), "null: \" has a separator or a quote"},
		{base(CSV, func(d *Dialect) { d.SkipLines = -1 }), "skip_lines"}, {base(CSV, func(d *Dialect) { d.SkipEnd = -1 }), "skip_end"},
		{base(CSV, func(d *Dialect) { d.Comment = "#\n" }), "comment"},
	} {
		if err := c.d.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.d, err, c.want)
		}
	}
}

// TestCuttable checks that separators whose matches depend on the start of the search are recognized.
func TestCuttable(t *testing.T) {
	for _, c := range []struct {
		field, record string
		want          bool
	}{{",", "", true}, {"@|@", "#@#\n", true}, {"|", "aa", false}, {"|", "aba", false}, {"@#", "#\n", false}, {"#", "\n#", false}, {"||", "|\n", false}, {"\x01", "\x02\n", true}} {
		d := Dialect{FieldSep: c.field, RecordSep: c.record}
		if got := d.Cuttable(); got != c.want {
			t.Errorf("%q and %q: %t", c.field, c.record, got)
		}
	}
}

// TestUnescape checks the meanings of the exporters' escapes.
func TestUnescape(t *testing.T) {
	for _, c := range []struct {
		m          Map
		text, want string
	}{
		{Literal, `a\n\\\|\N`, `an\|N`},
		{MySQL, "\\0\\b\\n\\r\\t\\Z\\\\\\\t\\\n\\N\\\"", "\x00\b\n\r\t\x1a\\\t\nN\""},
		{MySQLBatch, `\0\n\t\\\b`, "\x00\n\t\\b"},
		{Postgres, `\b\f\n\r\t\v\\\.`, "\b\f\n\r\t\v\\."},
		{Postgres, `\101\1012\7z\x41\x4g\xg\8`, "AA2\az" + "A\x04gxg8"},
		{HiveCRLF, `\n\r\\n\t`, "\n\r\\nt"},
		{JQ, `\n\r\t\\`, "\n\r\t\\"},
		{MySQL, `ends with \`, `ends with \`},
		{MySQL, ``, ``},
	} {
		u := Dialect{Escape: `\`, Map: c.m}.Unescaper()
		if got := u.Append([]byte("x"), []byte(c.text)); string(got) != "x"+c.want {
			t.Errorf("%s: %q is %q, want %q", c.m, c.text, got, c.want)
		}
	}
}

// TestIsNull checks that IsNull compares the raw text of values, and quoted values only with NullQuoted.
func TestIsNull(t *testing.T) {
	d := Dialect{Null: []string{`\N`, ""}}
	if !d.IsNull([]byte(`\N`), false) || !d.IsNull(nil, false) || d.IsNull([]byte(`\\N`), false) || d.IsNull(nil, true) || d.IsNull([]byte("N"), false) {
		t.Error("unquoted values")
	}
	if d.NullQuoted = true; !d.IsNull(nil, true) {
		t.Error("quoted values")
	}
	if (&Dialect{}).IsNull(nil, false) {
		t.Error("nothing is NULL without a text for it")
	}
}

// TestTextParse checks that Parse reverses Text, for any bytes.
func TestTextParse(t *testing.T) {
	for text, want := range map[string]string{`\t`: "\t", `\x01`: "\x01", `\u0001`: "\x01", `0x10`: "\x10", `\0`: "\x00", `\\`: `\`, `\`: `\`, `@|@`: "@|@", `\u00a7`: "§", `#@#\n`: "#@#\n", "": ""} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for _, text := range []string{`\q`, `\x1`, `0xgg`, `0x100`, `a\`} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is taken as %q", text, got)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		s := make([]byte, r.IntN(6))
		for i := range s {
			s[i] = byte(r.Uint32())
			if r.IntN(3) == 0 {
				s[i] = `0xX\n01`[r.IntN(7)]
			}
		}
		if got, err := Parse(Text(string(s))); err != nil || got != string(s) {
			t.Fatalf("%q is written %q and read %q, %v", s, Text(string(s)), got, err)
		}
	}
}

// TestMaps checks that Check accepts each map.
func TestMaps(t *testing.T) {
	for _, m := range Maps() {
		d, _ := Preset(MySQLText)
		d.Map = m
		if err := d.Check(); err != nil || !slices.Contains(Maps(), m) {
			t.Errorf("%s: %v", m, err)
		}
	}
}
