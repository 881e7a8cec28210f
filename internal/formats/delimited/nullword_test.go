package delimited

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/pkg/source/dialect"
)

// nullTokens returns texts for NULL: every single byte, common ones, and random ones of 2 to 7 bytes.
func nullTokens(r *rand.Rand) []string {
	tokens := []string{"", `\N`, "NULL", "null", "NA", "N/A", "-1", "None", "nil", "#N/A", "(none)", "<null>", "(null)", "1234567", "\x00\x00", "\xff\xff\xff\xff\xff\xff\xff"}
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	for range 60 {
		token := make([]byte, 2+r.IntN(6))
		for i := range token {
			token[i] = byte(r.Uint32())
		}
		tokens = append(tokens, string(token))
	}
	return tokens
}

// nearBy returns fields that a fast comparison could confuse with the token: the token itself, shorter and longer forms of it up to 16 bytes, and
// fields that differ from it in one bit of one byte.
func nearBy(token string) (fields [][]byte) {
	for n := range 17 {
		for _, more := range []byte{0, 1, ' ', 'N', 0x7f, 0x80, 0xff} {
			field := append([]byte(token), slices.Repeat([]byte{more}, 16)...)
			fields = append(fields, field[:n])
		}
	}
	for i := range len(token) {
		for bit := range 8 {
			field := []byte(token)
			field[i] ^= 1 << bit
			fields = append(fields, field, append(slices.Clone(field), 'x'), field[:i], field[:i+1], field[i:])
		}
	}
	return fields
}

// TestNullWord compares the comparison of words with one of strings: for each text for NULL, fields of all lengths up to 16, all single bytes and all
// neighbours by one bit, at all places of a word, between bytes that the comparison must ignore.
func TestNullWord(t *testing.T) {
	const seed = 29
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	around := 3
	if race.Reduced(t) {
		around = 1
	}
	cases := 0
	data := make([]byte, 8+16+Slack)
	check := func(w *nullWord, token string, from int, field []byte) {
		copy(data[from:], field)
		cases++
		got := w.span(data, from, from+len(field))
		if null := string(field) == token; got.IsNull() != null || !null && (int(got.Off) != from || int(got.Len) != len(field)) {
			t.Fatalf("%q at %d of %q, NULL is %q: %+v", field, from, data, token, got)
		}
	}
	for _, token := range nullTokens(r) {
		w := newNullWord([]string{token})
		if !w.usable {
			t.Fatalf("%q: not usable", token)
		}
		fields := nearBy(token)
		for b := range 256 {
			fields = append(fields, []byte{byte(b)})
		}
		for range around {
			for from := range 8 {
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				switch r.IntN(3) {
				case 0:
					clear(data)
				case 1: // the bytes after a short field continue like the token
					for i := range 8 {
						copy(data[from+i:], token)
					}
				}
				for _, field := range fields {
					check(&w, token, from, field)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
	none := newNullWord(nil)
	for b := range 256 {
		if got := none.span(data, b%8, b%8+b%17); !none.usable || got.IsNull() {
			t.Fatalf("%d bytes are NULL where nothing is", b%17)
		}
	}
	for _, nulls := range [][]string{{"a", "b"}, {"12345678"}} {
		if newNullWord(nulls).usable {
			t.Errorf("%q fits into a word", nulls)
		}
	}
}

// TestNullWordOfScanner reads neighbours of each text for NULL as fields of records, in the middle and at the end, by the sweep and by the slow path.
func TestNullWordOfScanner(t *testing.T) {
	const seed = 30
	t.Logf("seed %d", seed)
	for _, d := range []*dialect.Dialect{
		preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep = "," }), preset(t, dialect.CSV, nil), preset(t, dialect.MySQLText, nil),
		preset(t, dialect.PostgresCSV, nil), preset(t, dialect.Dump, nil),
	} {
		for _, token := range nullTokens(rand.New(rand.NewPCG(seed, 2))) {
			d := *d
			if d.Null = []string{token}; d.Check() != nil || d.Escape != "" && escaped([]byte(token), d.Escape[0]) {
				continue // it would escape the next byte
			}
			end := d.RecordSep
			if end == "" {
				end = "\n"
			}
			var text []byte
			var want []string
			special := []byte(d.FieldSep + end + d.Quote + d.Escape + "\r")
			for _, field := range append(nearBy(token), []byte(token), nil) {
				if string(field) != token && slices.ContainsFunc(field, func(b byte) bool { return slices.Contains(special, b) }) {
					continue
				}
				if string(field) == token && slices.Contains(field, '\r') {
					continue // it is cut off where lines may end with CR LF
				}
				want = append(want, string(field), string(field))
				text = append(append(append(append(text, field...), d.FieldSep...), field...), end...)
			}
			s := New(&d, 2, nil)
			data := append(slices.Clone(text), make([]byte, Slack)...)
			if next, bad := s.Scan(data, 0, len(text), true); next != len(text) || bad != nil || len(s.Fields) != len(want) {
				t.Fatalf("NULL is %q: %d of %d bytes, %d of %d fields, %+v", token, next, len(text), len(s.Fields), len(want), bad)
			}
			for i, f := range s.Fields {
				if null := want[i] == token; f.IsNull() != null || !null && string(f.Of(s.Data)) != want[i] {
					t.Fatalf("%s, NULL is %q, field %q: %+v", d.Name, token, want[i], f)
				}
			}
		}
	}
}
