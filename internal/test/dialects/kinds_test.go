package dialects

import (
	"bytes"
	"strings"
	"testing"

	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding"
)

// A kind of file is a dialect with the texts that its exporter writes in it.
type kind struct {
	name    string
	dialect *dialect.Dialect // nil: the format has no dialect
	format  source.Format
	cols    int

	write      writer
	container  string // codec of Avro, which replaces write
	charset    encoding.Encoding
	bom        string
	head, tail string // lines that are not records
	header     bool
	nulls      bool
	emptyNull  bool                   // '' is written like NULL
	tokens     []string               // awkward texts
	lost       func(text string) bool // the exporter cannot write it
	firstLost  func(text string) bool // the exporter cannot write it in the first column either
	judges     []judge
}

// A judge has the options with which judge.py reads a file.
type judge struct {
	How      string `json:"how"` // plain, escaped, quoted, lenient, csv, json, avro; fastavro, duckdb
	Sep      string `json:"sep,omitempty"`
	End      string `json:"end,omitempty"`
	Quote    string `json:"quote,omitempty"`
	Escape   string `json:"escape,omitempty"`  // within quotes; "": they are doubled
	Outside  bool   `json:"outside,omitempty"` // Escape counts outside of quotes too
	Letters  string `json:"letters,omitempty"` // letters of escapes: mysql, batch, copy, hive, jq
	Null     string `json:"null"`
	HasNull  bool   `json:"has_null"`
	Quoted   bool   `json:"null_quoted"` // a quoted value can be NULL
	Header   bool   `json:"header"`
	Skip     int    `json:"skip"` // number of lines
	SkipEnd  int    `json:"skip_end"`
	Comment  string `json:"comment,omitempty"`
	Trim     bool   `json:"trim"`
	Charset  string `json:"charset,omitempty"` // Python's name of it
	Cols     int    `json:"cols"`
	Packages bool   `json:"-"` // needs Python packages
}

func (k *kind) options() source.Options {
	o := source.Options{Format: k.format, Dialect: k.dialect, AllowEmpty: true}
	if d := k.dialect; d != nil && d.Header != dialect.HeaderYes || !k.header {
		o.Columns = names(k.cols)
	}
	return o
}

func names(cols int) []string {
	all := make([]string, cols)
	for c := range all {
		all[c] = "c" + string(rune('1'+c))
	}
	return all
}

// preset returns a kind for a preset, to which changes are applied.
func preset(tb testing.TB, name, of string, k kind, change func(*dialect.Dialect)) kind {
	tb.Helper()
	d, err := dialect.Preset(of)
	if err != nil {
		tb.Fatal(err)
	}
	if change != nil {
		change(&d)
	}
	if err := d.Check(); err != nil {
		tb.Fatal(name, err)
	}
	k.name, k.dialect = name, &d
	k.header = d.Header != dialect.HeaderNo
	if k.cols == 0 {
		k.cols = 5
	}
	k.complete()
	return k
}

// complete derives the judges' options from the kind.
func (k *kind) complete() {
	for i := range k.judges {
		j := &k.judges[i]
		j.Header, j.Cols = k.header, k.cols
		if j.Charset == "" && k.charset != nil {
			panic(k.name + ": its judges have no character set")
		}
	}
}

// encode returns a text in the kind's character set.
func (k *kind) encode(text []byte) []byte {
	if k.charset == nil {
		return text
	}
	out, err := k.charset.NewEncoder().Bytes(text)
	if err != nil {
		panic(k.name + ": the character set does not have a value")
	}
	return out
}

// before returns the text of a file before its first record.
func (k *kind) before() []byte {
	text := []byte(k.head)
	if k.header {
		end := k.judges[0].End
		if row := k.write(nil, filler(k, 0), quiet()); end == "" {
			end = string(row[bytes.LastIndexAny(row, "x\" \t")+1:])
		}
		text = append(text, strings.Join(names(k.cols), k.judges[0].Sep)+end...)
	}
	return append([]byte(k.bom), k.encode(text)...)
}

// trails returns characters of a set whose last byte has a meaning in most dialects, or ends a character of four bytes.
func trails(set encoding.Encoding) (all []string) {
	seen := map[byte]bool{}
	for r := rune(0x4e00); r < 0x9fff; r++ {
		b, err := set.NewEncoder().Bytes([]byte(string(r)))
		if err == nil && len(b) == 2 && b[1] < 0x80 && bytes.IndexByte([]byte(`\|@^~`+"`"+`nrtbZ0NA`), b[1]) >= 0 && !seen[b[1]] {
			seen[b[1]] = true
			all = append(all, string(r), string(r)+`\`, string(r)+"\n")
		}
	}
	return all
}
