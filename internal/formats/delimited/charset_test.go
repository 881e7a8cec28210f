package delimited

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"
	"bulkload/internal/test/race"
	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// TestNullInCharset checks that texts for NULL are found in the values of a character set, whatever characters they have, and before escapes are
// decoded.
func TestNullInCharset(t *testing.T) {
	for _, tt := range []struct{ preset, set, text, want string }{
		{"csv", "cp1252", "1,\x97\n2,N\xc3O\n3,\"\x97\"\n4,\x97\x97\n\x97,-\n", "1 NULL 2 NULL 3 — 4 —— NULL NULL"},
		{"csv", "gb18030", "1,\xa1\xaa\n2,N\x81\x30\x87\x31O\n3,\xa1\xaa\xa1\xaa\n-,\xa1\xaa", "1 NULL 2 NULL 3 —— NULL NULL"},
		{"mysql-csv", "cp1252", "1,\\\x97\n2,\x97\n3,\"\x97\"\n", "1 — 2 NULL 3 —"},
		{"mysql", "big5", "1\t\xa1\x58\n2\t\\\xa1\x58\n3\t-\n", "1 NULL 2 — 3 NULL"},
		{"csv", "utf-8", "1,—\n2,NÃO\n3,\"—\"\n", "1 NULL 2 NULL 3 —"},
		{"csv", "cp1252", "1,—\n—,\"—\"\n3,—", "1 â€” â€” â€” 3 â€”"}, // the bytes of the text for NULL in UTF-8
		{"mysql", "cp1252", "1\t—\n—\t\\—\n3\t\x97", "1 â€” â€” â€” 3 NULL"},
		{"trimmed", "cp1252", "1, — \n—, \x97\n", "1 â€” â€” NULL"},
		{"escaped", "cp1252", "1\t\\—\n\\—\t\\\x97\n\\\x97\t—\n", "1 â€” â€” NULL NULL â€”"},
	} {
		set, err := charset.Lookup(tt.set)
		if err != nil {
			t.Fatal(err)
		}
		nulls, trim := []string{"—", "NÃO", "-"}, dialect.TrimNone
		switch tt.preset {
		case "trimmed":
			tt.preset, trim = "csv", dialect.TrimBoth
		case "escaped":
			tt.preset, nulls = "mysql", []string{`\—`}
		}
		d := preset(t, tt.preset, func(d *dialect.Dialect) { d.Null, d.NullQuoted, d.Trim = nulls, false, trim })
		s, data := New(d, 2, set), append([]byte(tt.text), make([]byte, Slack)...)
		if next, bad := s.Scan(data, 0, len(tt.text), true); bad != nil || next != len(tt.text) {
			t.Fatalf("%+v: %d, %+v", tt, next, bad)
		}
		var got []string
		for _, f := range s.Fields {
			if got = append(got, string(f.Of(s.Data))); f.IsNull() {
				got[len(got)-1] = "NULL"
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s in %s: %q", tt.preset, tt.set, got)
		}
	}
}

// TestScannerOfGBK compares text in GB18030 with the plain reader's result for the same text in UTF-8: second bytes of characters are neither
// separators nor escapes.
func TestScannerOfGBK(t *testing.T) {
	set, err := charset.Lookup("gb18030")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 8000
	if race.Reduced(t) {
		rounds = 1000
	}
	for name, d := range dialects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(13, uint64(len(name))))
			end := d.RecordSep
			if end == "" {
				end = "\n"
			}
			// 誠 is D5 5C in GBK, 亅 81 7C; 𠀀 and ä have four bytes.
			tokens := []string{d.FieldSep, d.FieldSep, end, end, "誠", "亅", "𠀀", "中文", "a", "N", "ä", d.Quote, d.Escape, "\r", strings.Repeat("誠", 40)}
			if d.Escape != "" {
				tokens = append(tokens, "誠"+d.Escape+"n", d.Escape+d.Escape, "誠"+end)
			}
			if d.Quote != "" {
				tokens = append(tokens, d.Quote+d.FieldSep+d.Quote, d.Quote+end)
			}
			for range rounds {
				var b strings.Builder
				for range r.IntN(25) {
					b.WriteString(tokens[r.IntN(len(tokens))])
				}
				text, cols := b.String(), 1+r.IntN(3)
				raw, err := simplifiedchinese.GB18030.NewEncoder().String(text)
				if err != nil {
					t.Fatal(err)
				}
				want := plainRead(d, text, cols)
				for _, piece := range []func(int) int{func(left int) int { return left }, func(left int) int { return min(left, r.IntN(9)) }} {
					got := scanAll(t, New(d, cols, set), raw, piece)
					for i := range got {
						got[i].at = 0
					}
					for i := range want {
						want[i].at = 0
					}
					if got, want := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); got != want {
						t.Fatalf("%q of %d columns:\n%s, want\n%s", text, cols, got, want)
					}
				}
			}
		})
	}
	// Invalid characters are an error at their first byte.
	s := New(preset(t, "csv", nil), 2, set)
	// They end neither the quoted field nor the record.
	quoted := append([]byte("a,b\n\"c\xff\xff\nd\",\"e\"\ng,h\n"), make([]byte, Slack)...)
	if next, bad := s.Scan(quoted, 0, len(quoted)-Slack, true); bad == nil || bad.At != 6 || bad.Column != 0 || bad.Reason != reasonCharset || next != 16 {
		t.Errorf("%d %+v", next, bad)
	}
	data := append([]byte("a,b\nc,\xff\xffd\ne,f\n"), make([]byte, Slack)...)
	next, bad := s.Scan(data, 0, len(data)-Slack, true)
	if bad == nil || bad.At != 6 || bad.Column != 1 || bad.Reason != reasonCharset || next != 10 {
		t.Errorf("%d %+v", next, bad)
	}
}
