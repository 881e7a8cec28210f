package inspect

import (
	"bytes"
	"fmt"
	"testing"

	"bulkload/internal/model/spec"
)

// TestNearestExpresses checks that a job file can have the dialect of every writer, with any separators and quotes that the judge tries.
func TestNearestExpresses(t *testing.T) {
	for _, w := range writers() {
		for _, sep := range []string{",", "\t", "\x01", "@|@"} {
			for _, end := range []string{"", "\n", "\x10", "|\n"} {
				for _, quote := range []byte(`"'` + "\x00") {
					d := w.dialect(sep, end, quote)
					if !w.has(sep, end) || !w.quoted && quote != '"' || d.Check() != nil {
						continue
					}
					s := &scan{w: w, dialect: d, files: []fileScan{{first: [][]byte{[]byte("a")}, firstToken: []int{-1}, cols: []stat{{typ: TypeUnknown}}, records: 1, firstField: make([]field, 1)}}}
					for _, r := range s.readings(&Given{spec: spec.Spec{Header: "yes"}}, nil) {
						if n := Nearest(&r.dialect); n.spec.Dialect == "" {
							t.Errorf("%s: %s", w.what, r.dialect)
						}
					}
				}
			}
		}
	}
}

// TestCharsetOfFiles checks that files in ASCII change nothing, wherever they are among the others.
func TestCharsetOfFiles(t *testing.T) {
	ascii, gb18030, utf8 := []byte("id,name\n1,x\n"), bytes.Repeat([]byte("1,\xc9\xcf\xba\xa3\xd6\xd0\xb9\xfa\xf6\xf5\n"), 20), []byte("1,Ångström, Genève, Łódź, Örebro, Žilina\n")
	for _, c := range []struct {
		texts [][]byte
		want  string
	}{
		{[][]byte{ascii, ascii, gb18030}, "gb18030 []"},
		{[][]byte{gb18030, ascii, ascii, gb18030}, "gb18030 []"},
		{[][]byte{nil, ascii, ascii, gb18030, ascii}, "gb18030 []"},
		{[][]byte{ascii, ascii}, " []"},
		{[][]byte{ascii, utf8, ascii}, " []"},
		{[][]byte{ascii, utf8, gb18030}, " [gb18030]"},
		{[][]byte{gb18030, ascii, utf8}, "gb18030 [utf-8]"},
	} {
		var texts []text
		for _, data := range c.texts {
			texts = append(texts, text{data: data, whole: true})
		}
		if found, err := detect(texts, ""); err != nil || fmt.Sprint(found.name, " ", found.others) != c.want {
			t.Errorf("%q: %q %v, want %s", c.texts, found.name, found.others, c.want)
		}
	}
}
