package charset

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

// checkRows returns about a megabyte of rows of checks: Chinese names and remarks among numbers, dates and codes, in
// GB18030.
func checkRows(b *testing.B) []byte {
	var rows []byte
	for i := 0; len(rows) < 1<<20; i++ {
		rows = fmt.Appendf(rows, "CK%08d|6222020200%09d|%d.%02d|2026-03-%02d|张三丰%c|中国工商银行股份有限公司北京%c分行|CNY|货款，合同号%c%d|1\n",
			i, i*7919, i%100000, i%100, i%28+1, '一'+i*31%5000, '丁'+i*17%5000, '甲'+i%3000, i)
	}
	encoded, err := simplifiedchinese.GB18030.NewEncoder().Bytes(rows)
	if err != nil {
		b.Fatal(err)
	}
	return encoded
}

// inputs returns texts by name, each with its set.
func inputs(b *testing.B) map[string][2][]byte {
	rows := checkRows(b)
	chinese, err := simplifiedchinese.GB18030.NewEncoder().Bytes(bytes.Repeat([]byte("中国工商银行股份有限公司北京市分行营业部，支票结算业务专用凭证。"), 10000))
	if err != nil {
		b.Fatal(err)
	}
	ascii := bytes.Repeat([]byte("CK00000001|6222020200000007919|100.00|2026-03-05|plain|nothing special\n"), 14000)
	western := bytes.Repeat([]byte("CK00000001|Soci\xe9t\xe9 g\xe9n\xe9rale|Stra\xdfe 5, M\xfcnchen|100.00 \x80|2026-03-05\n"), 14000)
	return map[string][2][]byte{
		"check rows gbk": {rows, []byte("gbk")},
		"Chinese gbk":    {chinese, []byte("gbk")},
		"ASCII gbk":      {ascii, []byte("gbk")},
		"ASCII utf-8":    {ascii, []byte("utf-8")},
		"western cp1252": {western, []byte("cp1252")},
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, in := range inputs(b) {
		b.Run(name, func(b *testing.B) {
			c := mustLookup(b, string(in[1]))
			dst := make([]byte, 0, 3*len(in[0])+slack)
			b.SetBytes(int64(len(in[0])))
			b.ReportAllocs()
			for b.Loop() {
				c.Append(dst, in[0])
			}
		})
	}
}

// BenchmarkFields decodes each field separately; only fields that are not ASCII need it.
func BenchmarkFields(b *testing.B) {
	c, rows := mustLookup(b, "gbk"), checkRows(b)
	fields := bytes.FieldsFunc(rows, func(r rune) bool { return r == '|' || r == '\n' })
	dst := make([]byte, 0, 4096)
	b.SetBytes(int64(len(rows)))
	for b.Loop() {
		for _, f := range fields {
			c.Append(dst, f)
		}
	}
}

// BenchmarkXText decodes the check rows with x/text, for comparison.
func BenchmarkXText(b *testing.B) {
	rows := checkRows(b)
	dst := make([]byte, 3*len(rows))
	d := simplifiedchinese.GB18030.NewDecoder()
	b.SetBytes(int64(len(rows)))
	for b.Loop() {
		d.Reset()
		if _, _, err := d.Transform(dst, rows, true); err != nil && err != transform.ErrEndOfSpan {
			b.Fatal(err)
		}
	}
}

func BenchmarkStarts(b *testing.B) {
	for name, in := range inputs(b) {
		for _, way := range []string{"", ", by steps"} {
			b.Run(name+way, func(b *testing.B) {
				c := mustLookup(b, string(in[1]))
				b.SetBytes(int64(len(in[0])))
				var sum uint64
				for b.Loop() {
					skip := 0
					for p := in[0]; len(p) >= blockSize+Ahead; p = p[blockSize:] {
						var starts uint64
						if way == "" {
							starts, skip = c.Starts(p, skip)
						} else {
							starts, skip = c.startsByStep(p, skip)
						}
						sum += starts
					}
				}
			})
		}
	}
}

func BenchmarkReader(b *testing.B) {
	src := export(b, "csv-utf16le.tsv")
	for len(src) < 1<<20 {
		src = append(src, src...)
	}
	c := mustLookup(b, "utf-16le")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, c.NewReader(bytes.NewReader(src))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLookup measures the first Lookup of a set.
func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		makeTables(gb18030, simplifiedchinese.GB18030)
	}
}
