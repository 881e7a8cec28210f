package delimited

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"
	"bulkload/internal/test/race"

	"golang.org/x/text/encoding/simplifiedchinese"
)

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
