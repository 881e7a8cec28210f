package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestMainframeRecords reads records with numbers among texts in EBCDIC. A record with invalid nibbles is bad, with the name of its column, and is
// read again from the reject file.
func TestMainframeRecords(t *testing.T) {
	records := []string{"\xc1\xc2\xf0\xf0\xf1\xd5\x12\x34\x5c.", "\xc3 \xf0\xf0\xf0\xd0\x00\x00\x0d.", "\xc1\xc2\xf0\xf0\xf1\xd5\x12\x34\x56.", "\xc1\xc2\xf0\x40\xf1\xd5\x12\x34\x5c.", "\xc4\xc4\xf9\xf9\xf9\xf9\x0a\x15\x2f."}
	records[1] = strings.Replace(records[1], " ", "\x40", 1)
	rejects := NewRejectFile(filepath.Join(t.TempDir(), "bad.jsonl"))
	var bad []string
	o := Options{SplitSize: 15, Dialect: fixed(t, func(d *dialect.Dialect) { d.Charset, d.Unseparated, d.RecordLength = "cp037", true, 10 }, "name=1-2", "n=3-6:zoned", "amount=7-9:packed(2)"),
		Reject: func(e RowError) error {
			bad = append(bad, e.Column+": "+e.Reason)
			return rejects.Write(e)
		}}
	in, err := Open(t.Context(), disk, []string{writeFile(t, "unload", []byte(strings.Join(records, "")))}, o)
	testcheck.Must(t, err)
	var got []string
	testcheck.Must(t, showRows(t, in, &got))
	if want := []string{"AB/-15/123.45", "C/0/0.00"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"amount: 3 bytes that are not a packed decimal", "n: 4 bytes that are not a zoned decimal", "amount: 3 bytes that are not a packed decimal"}; !slices.Equal(bad, want) {
		t.Errorf("%q, want %q", bad, want)
	}
	_, err = rejects.Finish()
	testcheck.Must(t, err)
	again := 0
	in, err = Open(t.Context(), disk, []string{rejects.Path()}, Options{Format: FormatRejects, Reject: func(e RowError) error {
		again++
		if !strings.Contains(e.Reason, "decimal") || !slices.Contains(records, string(e.Raw)) {
			t.Errorf("%q: %s", e.Raw, e.Reason)
		}
		return nil
	}})
	testcheck.Must(t, err)
	if rows, err := readAll(t.Context(), in); err != nil || len(rows) != 0 || again != 3 {
		t.Errorf("%d rows, %d bad ones, %v", len(rows), again, err)
	}
}

// TestMainframePositions checks the kinds of numbers that may follow a position, and that invalid ones are refused.
func TestMainframePositions(t *testing.T) {
	for _, text := range []string{"a=1-10:packed", "a b=7:zoned", "x=y=3-5:packed(2)", "n=1-4:zoned(4)"} {
		if p, err := dialect.ParsePosition(text); err != nil || p.String() != text {
			t.Errorf("%q is %s, %v", text, p, err)
		}
	}
	for _, text := range []string{"a=1-10:", "a=1:comp", "a=1:packed(", "a=1:packed(x)", "a=1:packed(-1)", "a=1:packed(65)", "a=1:packed(2)x", ":packed"} {
		if p, err := dialect.ParsePosition(text); err == nil {
			t.Errorf("%q is %s", text, p)
		}
	}
	path := writeFile(t, "x.txt", []byte("abcdef\n"))
	for want, d := range map[string]*dialect.Dialect{
		"column a is packed, and may have the bytes of a record's end": fixed(t, nil, "a=1-3:packed"),
		"a=1-:zoned is not a number's position":                        fixed(t, nil, "a=1-:zoned"),
		"a=1-33:zoned is not a number's position":                      fixed(t, nil, "a=1-33:zoned"),
	} {
		if _, err := Open(t.Context(), disk, []string{path}, Options{Dialect: d}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
