package keygen

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

func parserOf(t testing.TB, spec string) *KeyParser {
	t.Helper()
	e, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := CompileParser(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parsedSpecs returns specs, and for each the columns that its keys contain.
func parsedSpecs() map[string]string {
	return map[string]string{
		"id":                                     "id",
		"salt(id, 10) + md5hex(id) + id":         "id",
		"salt(a, 100) + md5hex(a) + b":           "b",
		"a + '|' + b + '\\x00' + c":              "a b c",
		"a + '|' + md5raw(a) + ':' + orempty(b)": "a b",
		"'x' + orempty(a) + '--' + b + 'y'":      "a b",
		"a + '|' + a":                            "a",
		"a + md5hex(a + b)":                      "a",
		"bytesalt(a, 7) + a + ',' + b + ',' + c": "a b c",
	}
}

// TestKeyParser checks that the parser returns the columns from which a key was made, unless the key can be cut in two ways.
func TestKeyParser(t *testing.T) {
	seed := testcheck.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for spec, columns := range parsedSpecs() {
		p := parserOf(t, spec)
		if got := strings.Join(p.Columns(), " "); got != columns {
			t.Errorf("%s: columns %s, want %s", spec, got, columns)
		}
		e, _ := Parse(spec)
		program, err := Compile(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		values, once := make([][]byte, len(p.Columns())), 0
		for range 3000 {
			fields := map[string][]byte{}
			var list [][]byte
			for _, name := range program.Columns() {
				least := 1
				if strings.Contains(spec, "orempty("+name+")") {
					least = 0
				}
				b := make([]byte, least+r.IntN(6))
				for i := range b {
					b[i] = "ab|:,-y\x00\xff"[r.IntN(9)]
				}
				fields[name] = b
				list = append(list, b)
			}
			key, err := program.Append(nil, list)
			if errors.Is(err, ErrUTF8) {
				continue // the salt requires valid UTF-8
			}
			if err != nil {
				t.Fatal(err)
			}
			switch err := p.Parse(key, values); {
			case errors.Is(err, ErrTwoCuts):
				continue
			case err != nil:
				t.Fatalf("%s: key %q of %q: %v", spec, key, list, err)
			}
			once++
			for i, name := range p.Columns() {
				if !bytes.Equal(values[i], fields[name]) {
					t.Fatalf("%s: key %q gives %q as %s, which was %q", spec, key, values[i], name, fields[name])
				}
			}
		}
		if once < 100 {
			t.Errorf("%s: %d keys had one cut", spec, once)
		}
	}
}

// randomSpec returns a spec of random parts. The keys of some specs cannot be parsed.
func randomSpec(r *rand.Rand) string {
	columns := []string{"a", "b", "c"}
	one := func() string { return columns[r.IntN(len(columns))] }
	var parts []string
	for range 1 + r.IntN(6) {
		parts = append(parts, []func() string{
			one, one,
			func() string { return "orempty(" + one() + ")" },
			func() string { return []string{"'|'", "'::'", "'\\x00'", "'a'", "'xx'"}[r.IntN(5)] },
			func() string { return "salt(" + one() + ", " + []string{"7", "10", "1000"}[r.IntN(3)] + ")" },
			func() string { return []string{"bytesalt(", "javasalt("}[r.IntN(2)] + one() + ", 9)" },
			func() string { return "md5hex(" + one() + ")" },
			func() string { return "md5raw(" + one() + " + " + one() + ")" },
			func() string { return "upper(" + one() + ")" },
		}[r.IntN(9)]())
	}
	return strings.Join(parts, " + ")
}

// TestRandomKeyParsers makes keys with random specs and columns, and checks that the parser returns these columns, unless the key can be cut in two
// ways, and that it accepts no other keys.
func TestRandomKeyParsers(t *testing.T) {
	seed := testcheck.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	specs, keys, cuts := 0, 0, 0
	for range 4000 {
		spec := randomSpec(r)
		e, err := Parse(spec)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		p, err := CompileParser(e, Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "keys do not show") && !strings.Contains(err.Error(), "stores no column") {
				t.Fatalf("%s: %v", spec, err)
			}
			continue
		}
		specs++
		program, err := Compile(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		values := make([][]byte, len(p.Columns()))
		for range 20 {
			fields := map[string][]byte{}
			var list [][]byte
			for _, name := range program.Columns() {
				b := make([]byte, r.IntN(5))
				for i := range b {
					b[i] = "ab|:x"[r.IntN(5)]
				}
				fields[name] = b
				list = append(list, b)
			}
			key, err := program.Append(nil, list)
			if err != nil {
				continue // a column that must not be empty
			}
			keys++
			switch err := p.Parse(key, values); {
			case errors.Is(err, ErrTwoCuts):
				cuts++
				continue
			case err != nil:
				t.Fatalf("%s: key %q of %q: %v", spec, key, list, err)
			}
			for i, name := range p.Columns() {
				if !bytes.Equal(values[i], fields[name]) {
					t.Fatalf("%s: key %q gives %q as %s, which was %q", spec, key, values[i], name, fields[name])
				}
				list[slices.Index(program.Columns(), name)] = values[i]
			}
			if again, err := program.Append(nil, list); err != nil || !bytes.Equal(again, key) {
				t.Fatalf("%s: key %q is made again as %q, %v", spec, key, again, err)
			}
		}
	}
	t.Logf("%d specs that can be parsed, %d keys, %d with two cuts", specs, keys, cuts)
	if specs < 500 || keys < 2000 || cuts*2 > keys {
		t.Errorf("%d specs, %d keys, %d with two cuts", specs, keys, cuts)
	}
}

// TestKeyParserRefuses checks the errors for specs whose keys cannot be parsed.
func TestKeyParserRefuses(t *testing.T) {
	for spec, says := range map[string]string{
		"a + b":                      "keys do not show where a ends and b begins",
		"salt(a) + md5hex(a) + a":    "(give salt its modulus)",
		"md5hex(a)":                  "it stores no column unchanged",
		"a + md5hex(a) + orempty(b)": "where a ends and orempty(b) begins",
	} {
		e, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := CompileParser(e, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for spec, keys := range map[string][]string{
		"salt(id, 10) + md5hex(id) + id": {"", "1", "1" + strings.Repeat("0", 32) + "id"},
		"a + '|' + b":                    {"ab", "|b", "a|"},
		"'x' + a":                        {"ya"},
		"a + '|' + a":                    {"a|b"},
	} {
		p := parserOf(t, spec)
		for _, key := range keys {
			if err := p.Parse([]byte(key), make([][]byte, len(p.Columns()))); !errors.Is(err, ErrForeignKey) {
				t.Errorf("%s: %q: %v", spec, key, err)
			}
		}
	}
	p := parserOf(t, "a + '|' + b")
	if err := p.Parse([]byte("a|b|c"), make([][]byte, 2)); !errors.Is(err, ErrTwoCuts) {
		t.Error(err)
	}
}

// TestKeyParserAllocates checks that parsing allocates nothing.
func TestKeyParserAllocates(t *testing.T) {
	p := parserOf(t, "salt(id, 10) + md5hex(id) + id")
	e, _ := Parse("salt(id, 10) + md5hex(id) + id")
	program, _ := Compile(e, Options{})
	key, err := program.Append(nil, [][]byte{[]byte("some id")})
	if err != nil {
		t.Fatal(err)
	}
	values := make([][]byte, 1)
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Parse(key, values); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// FuzzKeyParser checks that the columns of a parsed key make the same key.
func FuzzKeyParser(f *testing.F) {
	f.Add("a + '|' + b", []byte("x|y"))
	f.Add("salt(id, 10) + md5hex(id) + id", []byte("1id"))
	f.Add("a + '--' + md5hex(a) + '-' + orempty(b) + 'z'", []byte("a--b-z"))
	f.Fuzz(func(t *testing.T, spec string, key []byte) {
		e, err := Parse(spec)
		if err != nil {
			return
		}
		p, err := CompileParser(e, Options{})
		if err != nil {
			return
		}
		values := make([][]byte, len(p.Columns()))
		if p.Parse(key, values) != nil {
			return
		}
		program, err := Compile(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var fields [][]byte
		for _, name := range program.Columns() {
			i := slices.Index(p.Columns(), name)
			if i < 0 {
				return
			}
			fields = append(fields, values[i])
		}
		again, err := program.Append(nil, fields)
		if err != nil || !bytes.Equal(again, key) {
			t.Errorf("%s: key %q, made again %q, %v", spec, key, again, err)
		}
	})
}
