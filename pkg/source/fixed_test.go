package source

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding/charmap"
)

// fixed returns a dialect of fixed columns.
func fixed(t *testing.T, change func(*dialect.Dialect), positions ...string) *dialect.Dialect {
	t.Helper()
	return dialectOf(t, dialect.Fixed, func(d *dialect.Dialect) {
		for _, text := range positions {
			p, err := dialect.ParsePosition(text)
			if err != nil {
				t.Fatal(err)
			}
			d.Positions = append(d.Positions, p)
		}
		if change != nil {
			change(d)
		}
	})
}

// TestFixed reads records of fixed columns: lines and unseparated records, with all kinds of positions and blanks, and bad records.
func TestFixed(t *testing.T) {
	people := []string{"id=1-4", "name=5-10", "sex=11", "city=13-16"}
	for _, tt := range []struct {
		name      string
		change    func(*dialect.Dialect)
		positions []string
		columns   []string
		text      string
		want, bad []string
	}{
		{name: "lines", positions: people, text: "0001Ann   f Oslo\r\n0002 Bob  m     \n0003\\N      Rome", want: []string{"0001/Ann/f/Oslo", "0002/ Bob/m/", "0003/\\N//Rome"}},
		{name: "NULL and trim", positions: people, change: func(d *dialect.Dialect) { d.Null, d.Trim = []string{"", `\N`}, dialect.TrimBoth },
			text: "0001Ann   f Oslo\n0002 Bob  m     \n0003\\N      Rome\n", want: []string{"0001/Ann/f/Oslo", "0002/Bob/m/-", "0003/-/-/Rome"}},
		{name: "as they are", positions: []string{"a=1-2", "b=3-4"}, change: func(d *dialect.Dialect) { d.Trim = dialect.TrimNone }, text: "a   \n  b \n", want: []string{"a /  ", "  /b "}},
		{name: "trim left", positions: []string{"a=1-2", "b=3-4"}, change: func(d *dialect.Dialect) { d.Trim = dialect.TrimLeft }, text: " a  \n   b\n", want: []string{"a/", "/b"}},
		{name: "some columns in another order", positions: people, columns: []string{"city", "id", "name", "sex"}, text: "\ufeff0001Ann   f Oslo\n", want: []string{"Oslo/0001/Ann/f"}},
		{name: "rest", positions: []string{"a=1-2", "b=3-"}, text: "aabbbb\r\naa\n\naab\n", want: []string{"aa/bbbb", "aa/", "aa/b"}, bad: []string{"it has 0"}},
		{name: "too short and too long", positions: people, text: "0001Ann   f Oslo\n0002Bob   m Ro\n0003Bob   m Rome!\n0004Ann   f Oslo\n", want: []string{"0001/Ann/f/Oslo", "0004/Ann/f/Oslo"}, bad: []string{"it has 14", "it has 17"}},
		{name: "CR LF and too short", positions: []string{"id=1-3", "a=4-7"}, text: "001ABCD\r\n002ABC\r\n003ABC\r\r\n004ABCD\n005ABC\r\n006ABC\r", want: []string{"001/ABCD", "003/ABC\r", "004/ABCD"}, bad: []string{"it has 6", "it has 6", "it has 6"}},
		{name: "CR before LF alone", positions: []string{"id=1-3", "a=4-7"}, change: func(d *dialect.Dialect) { d.RecordSep = "\n" }, text: "001ABC\r\n002ABCD\n003AB\r\n", want: []string{"001/ABC\r", "002/ABCD"}, bad: []string{"it has 6"}},
		{name: "longer records", positions: people, change: func(d *dialect.Dialect) { d.RecordLength = 17 }, text: "0001Ann   f Oslo!\n0002Ann   f Oslo\n", want: []string{"0001/Ann/f/Oslo"}, bad: []string{"it has 16"}},
		{name: "columns that overlap", positions: []string{"date=1-8", "year=1-4"}, text: "20260305\n", want: []string{"20260305/2026"}},
		{name: "nothing between", positions: []string{"a=1-2", "b=3"}, change: func(d *dialect.Dialect) { d.Unseparated, d.RecordLength = true, 4 }, text: "aab.AAB.x\n y12", want: []string{"aa/b", "AA/B", "x\n/"}, bad: []string{"it has 2"}},
		{name: "another end", positions: []string{"a=1-2", "b=3"}, change: func(d *dialect.Dialect) { d.RecordSep = "#@#\n" }, text: "aab#@#\na\nb#@#\n", want: []string{"aa/b", "a\n/b"}},
		{name: "lines to skip", positions: []string{"a=1-2", "b=3"}, change: func(d *dialect.Dialect) { d.SkipLines, d.SkipEnd = 1, 2 }, text: "A report\naab\nccd\n2 records\n\n", want: []string{"aa/b", "cc/d"}},
		{name: "GBK", positions: []string{"a=1-4", "b=5-6"}, change: func(d *dialect.Dialect) { d.Charset = "gbk" }, text: "\xd6\xd0\xce\xc4ab\n\xd6\xd0\xce\xffab\n\xd6\xd0  cd\n", want: []string{"中文/ab", "中/cd"}, bad: []string{"bytes that are"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{writeFile(t, "x.txt", []byte(tt.text)), writeFile(t, "x.gz", pack(t, "gz", []byte(tt.text)))} {
				for _, size := range []int64{0, 1, 20} {
					var got, bad []string
					o := Options{SplitSize: size, ChunkSize: int(size), Dialect: fixed(t, tt.change, tt.positions...), Columns: tt.columns, Reject: func(e RowError) error {
						bad = append(bad, strings.Join(strings.Fields(e.Reason)[:3], " "))
						return nil
					}}
					in, err := Open(t.Context(), disk, []string{path}, o)
					if err != nil {
						t.Fatal(err)
					}
					if err := showRows(t, in, &got); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(bad, tt.bad) {
						t.Errorf("splits of %d: %q, %q", size, got, bad)
					}
				}
			}
		})
	}
}

// TestFixedEBCDIC reads random unseparated records of a mainframe, of fixed length, in any splits, and reads their bad records again from the reject
// file.
func TestFixedEBCDIC(t *testing.T) {
	r := testcheck.Rand(t)
	for range 40 {
		var text []byte
		var want []string
		bad := 0
		for range 1 + r.IntN(300) {
			values := []string{fmt.Sprintf("%06d", r.IntN(1e6)), strings.TrimRight(string([]rune("ÄÖabc XYZ ß")[:r.IntN(8)]), " "), string("YN"[r.IntN(2)])}
			record := fmt.Sprintf("%s%s%s%s%s", values[0], values[1], strings.Repeat(" ", 10-len([]rune(values[1]))), values[2], "...")
			raw, err := charmap.CodePage037.NewEncoder().String(record)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, raw...)
			want = append(want, strings.Join(values, "/"))
		}
		if r.IntN(2) == 0 {
			text, bad = append(text, "\xc1\xc2"...), 1
		}
		rejects := NewRejectFile(filepath.Join(t.TempDir(), "bad.jsonl"))
		o := Options{SplitSize: int64(1 + r.IntN(500)), ChunkSize: 1 + r.IntN(100), Reject: rejects.Write, Dialect: fixed(t, func(d *dialect.Dialect) {
			d.Charset, d.Unseparated, d.RecordLength = "cp037", true, 20
		}, "id=1-6", "name=7-16", "flag=17")}
		in, err := Open(t.Context(), disk, []string{writeFile(t, "unload", text)}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := showRows(t, in, &got); err != nil || !slices.Equal(got, want) || in.Files()[0].Format != FormatFixed {
			t.Fatalf("%d of %d records, %v", len(got), len(want), err)
		}
		if n, err := rejects.Finish(); err != nil || n != bad {
			t.Fatalf("%d rejects, %v", n, err)
		}
		if bad == 0 {
			continue
		}
		var raw [][]byte
		in, err = Open(t.Context(), disk, []string{rejects.Path()}, Options{Format: FormatRejects, Reject: func(e RowError) error { raw = append(raw, bytes.Clone(e.Raw)); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := readAll(t.Context(), in); err != nil || len(rows) != 0 || len(raw) != 1 || string(raw[0]) != "\xc1\xc2" {
			t.Errorf("%d rows, %q, %v", len(rows), raw, err)
		}
	}
}

// TestFixedRefused checks that invalid fixed columns are rejected.
func TestFixedRefused(t *testing.T) {
	path := writeFile(t, "x.txt", []byte("abcdef\n"))
	for want, change := range map[string]func(*dialect.Dialect){
		"positions: column \"a\" stands twice":          func(d *dialect.Dialect) { d.Positions = append(d.Positions, d.Positions[0]) },
		"ends after the record, which has 3 bytes":      func(d *dialect.Dialect) { d.RecordLength = 3 },
		"so that records need an end":                   func(d *dialect.Dialect) { d.Positions[1].To, d.Unseparated = 0, true },
		"is not a column position":                      func(d *dialect.Dialect) { d.Positions[0].From = -1 },
		"have no lines to skip":                         func(d *dialect.Dialect) { d.Unseparated, d.SkipLines = true, 1 },
		"fixed columns have no separators between them": func(d *dialect.Dialect) { d.FieldSep = "," },
		"a record of cp1047 ends with no LF":            func(d *dialect.Dialect) { d.Charset = "cp1047" },
		"positions in UTF-16 are not supported":         func(d *dialect.Dialect) { d.Charset = "utf-16le" },
		"fewer lines than are to be skipped":            func(d *dialect.Dialect) { d.SkipLines = 3 },
	} {
		d, err := dialect.Preset(dialect.Fixed)
		if err != nil {
			t.Fatal(err)
		}
		d.Positions = []dialect.Position{{Name: "a", From: 1, To: 2}, {Name: "b", From: 3, To: 6}}
		change(&d)
		if _, err := Open(t.Context(), disk, []string{path}, Options{Dialect: &d}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, text := range []string{"", "a", "a=", "=1-2", "a=0", "a=2-1", "a=1-x", "a=-3", "a=1-2-3", "a=9999999"} {
		if p, err := dialect.ParsePosition(text); err == nil {
			t.Errorf("%q is %s", text, p)
		}
	}
	for _, text := range []string{"a=1-10", "a b=7", "x=y=3-"} {
		if p, err := dialect.ParsePosition(text); err != nil || p.String() != text {
			t.Errorf("%q is %s, %v", text, p, err)
		}
	}
}

// TestFixedRejectsOfCRLF reads the reject file of lines that end with CR LF and are too short: they stay bad, and their text has no CR.
func TestFixedRejectsOfCRLF(t *testing.T) {
	bad := NewRejectFile(filepath.Join(t.TempDir(), "bad.jsonl"))
	o := Options{Reject: bad.Write, Dialect: fixed(t, nil, "id=1-3", "a=4-7")}
	in, err := Open(t.Context(), disk, []string{writeFile(t, "x.txt", []byte("001ABCD\r\n002AB\r\n003ABC\r\n004\r\r\n"))}, o)
	if err != nil {
		t.Fatal(err)
	}
	var got, raw []string
	if err := showRows(t, in, &got); err != nil || !slices.Equal(got, []string{"001/ABCD"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if n, err := bad.Finish(); err != nil || n != 3 {
		t.Fatalf("%d rejects, %v", n, err)
	}
	o = Options{Format: FormatRejects, Reject: func(e RowError) error { raw = append(raw, string(e.Raw)); return nil }}
	if in, err = Open(t.Context(), disk, []string{bad.Path()}, o); err != nil {
		t.Fatal(err)
	}
	got = nil
	if err := showRows(t, in, &got); err != nil || len(got) > 0 || !slices.Equal(raw, []string{"002AB", "003ABC", "004\r"}) {
		t.Errorf("%q, bad %q, %v", got, raw, err)
	}
}
