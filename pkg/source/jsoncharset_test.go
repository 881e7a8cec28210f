package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// TestExportersOfJSON reads JSON lines of exporters, in splits of several sizes.
func TestExportersOfJSON(t *testing.T) {
	seen := 0
	for _, s := range readSamples(t) {
		if s.Format != "jsonl" {
			continue
		}
		seen++
		for _, size := range []int64{0, 1 << 10, 64, 7} {
			o := Options{Charset: s.Read.Charset, Columns: []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}, SplitSize: size}
			in, err := Open(t.Context(), disk, []string{exporterSamples + s.Path}, o)
			if err != nil {
				t.Fatalf("%s: %v", s.Path, err)
			}
			rows, err := rowsOf(t, in)
			want := expectedRows(t, *s.Expected)
			if err != nil || len(rows) != len(want) || len(rows) != s.Rows {
				t.Fatalf("%s, splits of %d: %d rows, %v", s.Path, size, len(rows), err)
			}
			for i := range want {
				if got, want := fmt.Sprintf("%q", rows[i]), fmt.Sprintf("%q", want[i]); got != want {
					t.Errorf("%s, splits of %d, row %d:\n%s\n%s", s.Path, size, i+1, got, want)
				}
			}
			if size == 64 && len(in.Splits()) < 2 {
				t.Errorf("%s: %d splits", s.Path, len(in.Splits()))
			}
		}
	}
	if seen < 8 {
		t.Errorf("%d samples", seen)
	}
}

// trailText returns text whose second bytes in GBK include all bytes that are special in JSON.
func trailText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	seen := map[byte]bool{}
	for r := rune(0x4e00); r < 0x9fa5; r++ {
		p, err := simplifiedchinese.GBK.NewEncoder().Bytes([]byte(string(r)))
		if err == nil && len(p) == 2 && p[1] < 0x80 && !seen[p[1]] {
			seen[p[1]] = true
			b.WriteRune(r)
		}
	}
	for _, c := range []byte(`\{}[]|nt`) {
		if !seen[c] {
			t.Fatalf("no character ends with %q", c)
		}
	}
	return b.String()
}

// TestJSONOfCharsets reads lines whose names and values have second bytes that are backslashes, braces and brackets.
func TestJSONOfCharsets(t *testing.T) {
	value := trailText(t)
	text := ""
	for i := range 50 {
		text += fmt.Sprintf(`{"id":%d,"名\n誠":%q,"o":{"%s":"誠\"誠"}}`+"\n", i, value, "誠")
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	for set, data := range map[string]string{"gbk": gbk, "GB18030": gbk, "utf-16": utf16, "utf-8": text, "": text} {
		for _, size := range []int64{0, 500} {
			o := Options{Charset: set, Columns: []string{"id", "名\n誠", "o.誠"}, SplitSize: size, ChunkSize: 300}
			in, err := Open(t.Context(), disk, []string{writeFile(t, "x.jsonl", []byte(data))}, o)
			if err != nil {
				t.Fatalf("%q: %v", set, err)
			}
			rows, err := rowsOf(t, in)
			if err != nil || len(rows) != 50 {
				t.Fatalf("%q: %d rows, %v", set, len(rows), err)
			}
			for i, row := range rows {
				if row["id"] != fmt.Sprint(i) || row["名\n誠"] != value || row["o.誠"] != `誠"誠` {
					t.Fatalf("%q, row %d: %q", set, i, row)
				}
			}
		}
	}
	d := dialectOf(t, "csv", nil)
	d.Charset = "gbk"
	in, err := Open(t.Context(), disk, []string{writeFile(t, "export", []byte(gbk))}, Options{Dialect: d, Charset: "gbk", Extra: ExtraIgnore})
	if err != nil || in.Files()[0].Format != FormatJSON || in.Columns()[1] != "名\n誠" || in.Files()[0].Settings != "charset=gb18030" && in.Files()[0].Settings != "charset=gbk" {
		t.Errorf("next to text: %q, %v", in.Columns(), err)
	}
}

// TestBadJSONOfCharsets checks the reasons of lines with invalid bytes, and of lines with errors after valid characters. The lines are corrected and
// read again.
func TestBadJSONOfCharsets(t *testing.T) {
	data := []byte("{\"a\":\"\xd5\x5c\"}\n{\"a\":\"\x81\"}\n{\"a\":\"\xd5\x5c\",}\n{\"a\":\"\xd5\x5c!\"}\n")
	for _, chunk := range []int{0, 3} {
		rows, bad, path := rejected(t, Options{Charset: "gbk", Columns: []string{"a"}, ChunkSize: chunk}, writeFile(t, "x.jsonl", data))
		if len(rows) != 2 || len(bad) != 2 {
			t.Fatalf("%q, %q", rows, bad)
		}
		for i, want := range []string{"JSON, byte 6 of the line: these bytes are not a character", "JSON, byte 11 of the line in UTF-8"} {
			if !strings.Contains(bad[i], want) {
				t.Errorf("%s, want %s", bad[i], want)
			}
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set, err := charset.Lookup("gbk")
		if err != nil || !strings.Contains(string(file), `"charset":"`+set.Name()+`"`) {
			t.Fatalf("%s, %v", file, err)
		}
		// The first line is removed, and the comma of the second: {"a":"誠"}
		lines := strings.SplitAfter(string(file), "\n")
		again := lines[0] + strings.Replace(lines[2], `eyJhIjoi1VwiLH0=`, `eyJhIjoi1VwifQ==`, 1)
		if again == lines[0]+lines[2] {
			t.Fatal(lines[2])
		}
		in, err := Open(t.Context(), disk, []string{writeFile(t, "again", []byte(again))}, Options{Format: FormatRejects, Columns: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rowsOf(t, in)
		if diff := cmp.Diff([]map[string]any{{"a": "誠"}}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// BenchmarkJSONOfGBK reads lines. Every second value is Chinese.
func BenchmarkJSONOfGBK(b *testing.B) {
	line := `{"id":"20171012000123","check_id":"CK00012345","name":"张三丰","remark":"贷款申请人资料与登记不符","amount":1234.50,"flag":true}` + "\n"
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(strings.Repeat(line, 200_000))
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(gbk), 0o600); err != nil {
		b.Fatal(err)
	}
	in, err := Open(b.Context(), disk, []string{path}, Options{Charset: "gbk", Columns: []string{"id", "check_id", "name", "remark", "amount", "flag"}})
	if err != nil {
		b.Fatal(err)
	}
	r := in.NewReader()
	b.SetBytes(int64(len(gbk)))
	b.ReportAllocs()
	for b.Loop() {
		for split := range in.Splits() {
			if err := r.Read(b.Context(), split, func(*Batch) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestASCII compares the test of whole words with one of each byte: all lengths up to 24 at all places of a word, and every byte at every place,
// between bytes that do not count.
func TestASCII(t *testing.T) {
	for from := range 8 {
		for n := range 25 {
			p := slices.Repeat([]byte{0xff}, 40)
			text := p[from : from+n]
			clear(text)
			for at := range text {
				for c := range 256 {
					if text[at] = byte(c); ascii(text) != (c < 0x80) {
						t.Fatalf("%x: %t", text, ascii(text))
					}
				}
				text[at] = 0
			}
			if !ascii(text) {
				t.Fatalf("%x", text)
			}
		}
	}
}
