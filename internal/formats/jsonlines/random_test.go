package jsonlines

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestRandom compares random lines, valid and with one byte changed, with jsontext and encoding/json.
func TestRandom(t *testing.T) {
	names := []string{"a", "b", "a.b", `x\`, "名称", "", "long name of a member", `q"`}
	list := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3)
	list = rapid.OneOf(list, rapid.SliceOfN(rapid.SampledFrom(names[:3]), 1, 2)) // often draws a path that is also a name
	testcheck.Check(t, func(r *rapid.T) {
		wanted := rapid.SliceOfNDistinct(list, 0, 6, func(l []string) string { return strings.Join(l, "\x00") }).Draw(r, "wanted")
		tree, paths := wishes(wanted)
		plan, err := Compile(paths)
		if err != nil {
			r.Fatal(err)
		}
		p := plan.NewParser()
		for range 4 {
			line := []byte(drawObject(r, names, 3))
			judge(t, p, line, tree, len(paths))
			line[rapid.IntRange(0, len(line)-1).Draw(r, "at")] = rapid.SampledFrom([]byte("\"\\{}[],: \x00\n0eu\x80\xff")).Draw(r, "byte")
			judge(t, p, line, tree, len(paths))
		}
	})
}

// drawObject returns an object of random members, blanks and escapes, whose names are mostly unique.
func drawObject(r *rapid.T, names []string, depth int) string {
	blank := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\t\r\n "}).Draw(r, "blank") }
	text := func(s string) string {
		var b strings.Builder
		b.WriteByte('"')
		for _, c := range s {
			q, _ := json.Marshal(string(c))
			if c < 0x10000 && rapid.IntRange(0, 5).Draw(r, "escape") == 0 {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.Write(q[1 : len(q)-1])
			}
		}
		b.WriteByte('"')
		return b.String()
	}
	var b strings.Builder
	b.WriteString(blank() + "{" + blank())
	order := rapid.Permutation(names).Draw(r, "order")[:rapid.IntRange(0, len(names)).Draw(r, "members")]
	if rapid.IntRange(0, 9).Draw(r, "twice") == 0 {
		order = append(order, "a")
	}
	for i, name := range order {
		if i > 0 {
			b.WriteString("," + blank())
		}
		b.WriteString(text(name) + blank() + ":" + blank())
		switch k := rapid.IntRange(0, 9).Draw(r, "kind"); {
		case k < 3:
			b.WriteString(text(rapid.StringN(0, 20, -1).Draw(r, "text")))
		case k < 5:
			b.WriteString(fmt.Sprint(rapid.Int64Range(math.MinInt64, math.MaxInt64).Draw(r, "number")))
		case k == 5:
			b.WriteString(rapid.SampledFrom([]string{"true", "false", "null", "1.50", "-0e+10", "[]", "{}"}).Draw(r, "word"))
		case k == 6:
			b.WriteString("[" + blank() + text("x") + "," + blank() + "[1," + drawObject(r, nil, 0) + "]]")
		case depth > 0:
			b.WriteString(drawObject(r, names, depth-1))
		default:
			b.WriteString("null")
		}
		b.WriteString(blank())
	}
	b.WriteString("}" + blank())
	return b.String()
}

// TestScanString compares the search in steps of eight bytes with one byte by byte: every byte at every place.
func TestScanString(t *testing.T) {
	for length := range 20 {
		for at := range length + 1 {
			for c := range 256 {
				b := []byte(strings.Repeat("a", length) + `"` + strings.Repeat(`"`, 9))
				b[at] = byte(c)
				next, escaped, f := scanString(b, 0)
				var want fault
				place := length + 1
				switch {
				case c == '"':
					place = at + 1
				case c < 0x20:
					want, place = faultControl, at
				case c == '\\':
					continue // see TestFaults and FuzzParse
				case c >= 0x80:
					want, place = faultUTF8, at
				case at == length:
					place = at + 2
				}
				if next != place || f != want || escaped {
					t.Fatalf("%q: %d %s, want %d %s", b, next, f, place, want)
				}
			}
		}
	}
}
