package orc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/valuetext"
)

// numbers returns a stream of numbers, as literals of version 1 of the run length encoding.
func numbers(signed bool, values ...int64) *ints {
	b := []byte{byte(-len(values))}
	for _, v := range values {
		if signed {
			b = binary.AppendVarint(b, v)
		} else {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return &ints{stream: streamOf(b), signed: signed}
}

// texts returns a column of texts or bytes.
func texts(k kind, values ...string) *column {
	var lengths []int64
	for _, v := range values {
		lengths = append(lengths, int64(len(v)))
	}
	return &column{node: &node{kind: k}, rules: &textRules{most: 100, zone: time.UTC}, ints: numbers(false, lengths...), data: streamOf([]byte(strings.Join(values, "")))}
}

// TestJSONOfORC checks the JSON of values in lists, maps, structs and unions.
func TestJSONOfORC(t *testing.T) {
	of := func(k kind, c column) *column {
		c.node, c.rules = &node{kind: k}, &textRules{most: 100, zone: time.UTC}
		return &c
	}
	named := func(name string, c *column) *column {
		c.name, c.json = name, append(valuetext.AppendJSON(nil, name), ':')
		return c
	}
	octet := func(b ...byte) octets { return octets{stream: streamOf(append([]byte{byte(-len(b))}, b...))} }
	long := func(v ...int64) *column { return of(kindLong, column{ints: numbers(true, v...)}) }
	double := func(v float64) *column {
		return of(kindDouble, column{data: streamOf(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))})
	}
	list := func(n int64, kids ...*column) *column {
		return of(kindList, column{ints: numbers(false, n), kids: kids})
	}
	mapOf := func(n int64, key, value *column) *column {
		c := of(kindMap, column{ints: numbers(false, n), kids: []*column{key, value}})
		c.node.kids = []*node{key.node, value.node}
		return c
	}
	for want, c := range map[string]*column{
		`[1,-22,333]`: list(3, long(1, -22, 333)), `[]`: list(0, long(1)), `["a\"\\","","日"]`: list(3, texts(kindString, `a"\`, "", "日")), `["/wA="]`: list(1, texts(kindBinary, "\xff\x00")), `[0.5]`: list(1, double(0.5)), `["NaN"]`: list(1, double(math.NaN())),
		`["a","b "]`: list(2, texts(kindVarchar, "a", "b ")), `[-1,127]`: list(2, of(kindByte, column{small: octet(0xff, 0x7f)})), `[true]`: list(1, of(kindBool, column{bits: flags{octets: octet(0x80)}})),
		`{"1":10,"-22":20}`: mapOf(2, long(1, -22), long(10, 20)), `{"a\"":1}`: mapOf(1, texts(kindString, `a"`), long(1)), `{"true":null}`: mapOf(1, of(kindBool, column{bits: flags{octets: octet(0x80)}}), of(kindLong, column{present: &flags{octets: octet(0)}})),
		`{"Infinity":1}`: mapOf(1, double(math.Inf(1)), long(1)), `[{"key":[7],"value":8}]`: mapOf(1, list(1, long(7)), long(8)),
		`{"x":5,"y \"":{"z":null}}`: of(kindStruct, column{kids: []*column{named("x", long(5)), named(`y "`, of(kindStruct, column{kids: []*column{named("z", of(kindLong, column{present: &flags{octets: octet(0)}}))}}))}}),
		`["u",9]`:                   list(2, of(kindUnion, column{small: octet(1, 0), kids: []*column{long(9), texts(kindString, "u")}})),
	} {
		w := nestedWriter{most: 1000}
		got, err := w.value([]byte("before"), c)
		if err != nil || string(got) != "before"+want || !json.Valid([]byte(want)) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	for name, tt := range map[string]struct {
		most int
		c    *column
	}{"a branch that is not there": {1000, of(kindUnion, column{small: octet(2), kids: []*column{long(9)}})}, "fewer values": {1000, list(2, long(1))}, "fewer lists": {1000, of(kindList, column{ints: numbers(false), kids: []*column{long(1)}})}, "too long": {10, texts(kindString, "12345678901")}, "deep and long": {3, list(9, long(1, 2, 3, 4, 5, 6, 7, 8, 9))}} {
		if got, err := (&nestedWriter{most: tt.most}).value(nil, tt.c); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestTextsOfORC checks decimals, which have at least the digits of their column, and values that are damaged.
func TestTextsOfORC(t *testing.T) {
	for want, tt := range map[string]struct {
		value, scale int64
		of           int
	}{"12": {12, 0, 0}, "12.00": {12, 0, 2}, "1.20": {12, 1, 2}, "0.12": {12, 2, 2}, "0.012": {12, 3, 2}, "-0.050": {-5, 2, 3}, "0.0": {0, 0, 1}} {
		c := &column{node: &node{kind: kindDecimal, scale: tt.of}, data: streamOf(binary.AppendVarint(nil, tt.value))}
		if got, err := c.append(nil, 0, tt.scale); err != nil || string(got) != want {
			t.Errorf("%d of scale %d in a column of %d: %s, %v, want %s", tt.value, tt.scale, tt.of, got, err, want)
		}
	}
	damaged := func(k kind, first, second int64) *column {
		c := texts(k, "x")
		c.data, c.ints, c.more = streamOf([]byte{2}), numbers(true, first), numbers(true, second)
		return c
	}
	for want, c := range map[string]*column{
		"the scale of a decimal is damaged": damaged(kindDecimal, 0, 39), "a date is out of range": damaged(kindDate, 1<<31, 0), "the nanoseconds of a timestamp are damaged": damaged(kindTimestamp, 0, 1e9<<3),
		"the length of a value is damaged": damaged(kindString, -1, 0), "a value of 101 bytes needs 101, and there are 100": damaged(kindString, 101, 0),
	} {
		first, err1 := c.ints.next()
		second, err2 := c.more.next()
		if got, err := c.append([]byte("x"), first, second); err1 != nil || err2 != nil || err == nil || err.Error() != want || !slices.Equal(got, []byte("x")) {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
}

// TestNullItemsAreLimited checks that the JSON of a list or a map ends at its limit also where a few bytes say that all its items are NULL.
func TestNullItemsAreLimited(t *testing.T) {
	const items = 10_000_000
	of := func(k kind, c column) *column {
		c.node, c.rules = &node{kind: k}, &textRules{most: 100}
		return &c
	}
	nulls := func() *column {
		return of(kindLong, column{present: &flags{octets: octets{stream: streamOf(bytes.Repeat([]byte{127, 0}, items/(130*8)+1))}}})
	}
	for _, kids := range [][]*column{{nulls()}, {nulls(), nulls()}} {
		c := of(kindList+kind(len(kids)-1), column{ints: numbers(false, items), kids: kids})
		w := nestedWriter{most: 1000}
		if got, err := w.value(nil, c); err != errLongJSON || len(got) > w.most+100 {
			t.Errorf("kind %d: %d bytes, %v", c.kind, len(got), err)
		}
	}
}
