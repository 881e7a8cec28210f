package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"bulkload/pkg/source/span"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fastjson"
)

// checkNames are the members of the benchmarks' rows, in the writer's order.
var checkNames = []string{
	"check_id", "acct_no", "payee", "payee_bank", "payer", "payer_bank", "amount", "currency", "issued", "cleared",
	"status", "branch", "teller", "channel", "seq", "void", "image_key", "remark",
}

// checkLines returns rows of checks: 18 members, most of them strings, some of them Chinese, some with escapes. With
// shuffle each row has its own order; with ascii all Chinese is written in \u escapes.
func checkLines(rows int, shuffle, ascii bool) (buf []byte, ends []int) {
	r := rand.New(rand.NewPCG(18, 11))
	names := []string{"张三", "李四海", "Wang Xiaoming", "上海浦东发展有限公司", "ACME Trading Ltd", "王五"}
	banks := []string{"中国工商银行上海市分行", "Bank of East Asia", "招商银行", "HSBC"}
	remarks := []string{"", "nothing special", "line one\\nline two", "\\\"quoted\\\" text", "货款，第三期", "path C:\\\\out\\\\a", "rent for the month of March"}
	for i := range rows {
		values := []string{
			fmt.Sprintf(`"CK%012d"`, r.IntN(1e9)), fmt.Sprintf(`"6222%015d"`, r.IntN(1e9)),
			`"` + names[r.IntN(len(names))] + `"`, `"` + banks[r.IntN(len(banks))] + `"`,
			`"` + names[r.IntN(len(names))] + `"`, `"` + banks[r.IntN(len(banks))] + `"`,
			fmt.Sprintf("%d.%02d", r.IntN(1e6), r.IntN(100)), `"CNY"`,
			fmt.Sprintf(`"2026-%02d-%02d 08:09:10"`, 1+r.IntN(12), 1+r.IntN(28)), fmt.Sprintf(`"2026-%02d-%02d"`, 1+r.IntN(12), 1+r.IntN(28)),
			`"CLEARED"`, fmt.Sprintf(`"%04d"`, r.IntN(10000)), fmt.Sprintf(`"T%05d"`, r.IntN(100000)), `"counter"`,
			strconv.Itoa(i), strconv.FormatBool(r.IntN(9) == 0), fmt.Sprintf(`"img/2026/%08x/%08x.tif"`, r.Uint32(), r.Uint32()),
			`"` + remarks[r.IntN(len(remarks))] + `"`,
		}
		order := make([]int, len(values))
		for k := range order {
			order[k] = k
		}
		if shuffle {
			r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		buf = append(buf, '{')
		for n, k := range order {
			if n > 0 {
				buf = append(buf, ',')
			}
			v := values[k]
			if ascii {
				v = strings.ReplaceAll(strconv.QuoteToASCII(v), `\\`, `\`)
				v = strings.ReplaceAll(v[1:len(v)-1], `\"`, `"`)
			}
			buf = append(append(append(append(buf, '"'), checkNames[k]...), `":`...), v...)
		}
		buf = append(buf, '}')
		ends = append(ends, len(buf))
		buf = append(buf, '\n')
	}
	return buf, ends
}

func BenchmarkParse(b *testing.B) {
	five := []string{"check_id", "payee", "amount", "issued", "status"}
	for _, c := range []struct {
		name           string
		wanted         []string
		shuffle, ascii bool
	}{
		{"all", checkNames, false, false},
		{"five", five, false, false},
		{"none", nil, false, false},
		{"all-any-order", checkNames, true, false},
		{"five-any-order", five, true, false},
		{"all-ascii", checkNames, false, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			buf, ends := checkLines(2000, c.shuffle, c.ascii)
			plan, err := Compile(c.wanted)
			if err != nil {
				b.Fatal(err)
			}
			p, fields := plan.NewParser(), make([]span.Span, len(c.wanted))
			size := len(buf)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				buf = buf[:size]
				start := 0
				for _, end := range ends {
					if buf, err = p.Parse(buf, start, end, fields); err != nil {
						b.Fatal(err)
					}
					start = end + 1
				}
			}
		})
	}
}

// BenchmarkFastjson makes the same row with valyala/fastjson: alone, where it accepts lines that encoding/json refuses
// (TestFastjsonIsLenient), and with its own validation of each line.
func BenchmarkFastjson(b *testing.B) {
	for _, c := range []struct {
		name              string
		validate, shuffle bool
	}{{"all", false, false}, {"all-any-order", false, true}, {"all-validated", true, false}} {
		b.Run(c.name, func(b *testing.B) {
			buf, ends := checkLines(2000, c.shuffle, false)
			fields := make([]span.Span, len(checkNames))
			size := len(buf)
			var p fastjson.Parser
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				buf = buf[:size]
				start := 0
				for _, end := range ends {
					line := buf[start:end]
					start = end + 1
					if c.validate {
						if err := fastjson.ValidateBytes(line); err != nil {
							b.Fatal(err)
						}
					}
					v, err := p.ParseBytes(line)
					if err != nil {
						b.Fatal(err)
					}
					o, err := v.Object()
					if err != nil {
						b.Fatal(err)
					}
					for i, name := range checkNames {
						off := len(buf)
						m := o.Get(name)
						if m == nil || m.Type() == fastjson.TypeNull {
							fields[i] = span.Null()
							continue
						}
						if m.Type() == fastjson.TypeString {
							s, _ := m.StringBytes()
							buf = append(buf, s...)
						} else {
							buf = m.MarshalTo(buf)
						}
						fields[i] = span.Span{Off: uint32(off), Len: uint32(len(buf) - off)}
					}
				}
			}
		})
	}
}

// BenchmarkJSONText only reads the tokens of the rows with jsontext, and BenchmarkValid only validates them with
// encoding/json.
func BenchmarkJSONText(b *testing.B) {
	buf, ends := checkLines(2000, false, false)
	r := bytes.NewReader(buf)
	d := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true))
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(buf)
		d.Reset(r, jsontext.AllowDuplicateNames(true))
		for range ends {
			for range 2 + 2*len(checkNames) {
				if _, err := d.ReadToken(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkValid(b *testing.B) {
	buf, ends := checkLines(2000, false, false)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		start := 0
		for _, end := range ends {
			if !json.Valid(buf[start:end]) {
				b.Fatal("not valid")
			}
			start = end + 1
		}
	}
}
