package charset

import (
	"bytes"
	"io"
	"os"
	"testing"
	"testing/iotest"
)

func export(t testing.TB, name string) []byte {
	t.Helper()
	p, err := os.ReadFile("testdata/exports/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExports reads files of databases and engines, as a whole and in pieces, and compares them with the same files in
// UTF-8. unlike is the number of lines with ? for characters that the set lacks.
func TestExports(t *testing.T) {
	for _, test := range []struct {
		file, charset, same string
		unlike              int
	}{
		{"outfile-gbk.txt", "gbk", "outfile-utf8.txt", 5},
		{"json-gbk.jsonl", "GBK", "json-utf8.jsonl", 5},
		{"csv-utf16.csv", "utf-16", "csv-utf8.csv", 0},
		{"csv-utf16.csv", "utf-16be", "csv-utf8.csv", 0},
		{"csv-utf16le.tsv", "utf-16", "csv-utf16le-utf8.tsv", 0},
		{"csv-utf16le.tsv", "UTF-16LE", "csv-utf16le-utf8.tsv", 0},
		{"to_csv-gb18030.csv", "gb18030", "to_csv-utf8.csv", 0},
		{"outfile-latin1.txt", "latin1", "outfile-latin1-utf8.txt", 0},
		{"csv-utf8.csv", "utf8mb4", "csv-utf8.csv", 0},
	} {
		c, src, want := mustLookup(t, test.charset), export(t, test.file), export(t, test.same)
		var texts [][]byte
		for _, r := range []io.Reader{bytes.NewReader(src), iotest.OneByteReader(bytes.NewReader(src)), iotest.DataErrReader(bytes.NewReader(src))} {
			text, err := io.ReadAll(c.NewReader(r))
			if err != nil {
				t.Fatalf("%s: %v", test.file, err)
			}
			texts = append(texts, text)
		}
		if c.Safe() > 0 {
			text, bad := c.Append(nil, src)
			if bad >= 0 {
				t.Errorf("%s: bad at %d", test.file, bad)
			}
			texts = append(texts, text)
		}
		for _, text := range texts {
			unlike := 0
			lines, wanted := bytes.Split(text, []byte("\n")), bytes.Split(want, []byte("\n"))
			if len(lines) != len(wanted) {
				t.Fatalf("%s: %d lines, not %d", test.file, len(lines), len(wanted))
			}
			for i := range lines {
				if !bytes.Equal(lines[i], wanted[i]) {
					unlike++
					if !bytes.Contains(lines[i], []byte("?")) || test.unlike == 0 {
						t.Errorf("%s, line %d: %q, not %q", test.file, i, lines[i], wanted[i])
					}
				}
			}
			if unlike != test.unlike {
				t.Errorf("%s: %d lines unlike", test.file, unlike)
			}
		}
	}
}
