package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/pkg/source/span"

	hamba "github.com/hamba/avro/v2"
)

// headed returns the header of a file without blocks that has the schema.
func headed(schema string) (*Header, error) {
	data := fileOf(schema, "null", 0, nil)
	return ReadHeader(bytes.NewReader(data), int64(len(data)))
}

// fileOf returns a file of at most one block with the given bytes.
func fileOf(schema, codec string, count int, packed []byte) []byte {
	text := func(b []byte, s string) []byte { return append(appendNumber(b, int64(len(s))), s...) }
	b := appendNumber([]byte(magic), 2)
	b = text(text(text(text(b, "avro.schema"), schema), "avro.codec"), codec)
	b = append(b, 0)
	b = append(b, "sync sync sync s"...)
	if count == 0 {
		return b
	}
	b = append(appendNumber(appendNumber(b, int64(count)), int64(len(packed))), packed...)
	return append(b, "sync sync sync s"...)
}

func appendNumber(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

// record returns the schema of a record with fields v0, v1 and so on of the given types.
func record(types ...string) string {
	var fields []string
	for i, t := range types {
		fields = append(fields, fmt.Sprintf(`{"name":"v%d","type":%s}`, i, t))
	}
	return `{"type":"record","name":"r","fields":[` + strings.Join(fields, ",") + `]}`
}

// TestTexts checks the texts of values that are given as bytes.
func TestTexts(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	logical := func(kind, name string) string { return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, kind, name) }
	number := func(v int64) string { return string(appendNumber(nil, v)) }
	decimal := func(size, precision, scale int) string {
		return fmt.Sprintf(`{"type":"fixed","name":"f","size":%d,"logicalType":"decimal","precision":%d,"scale":%d}`, size, precision, scale)
	}
	for _, c := range []struct{ schema, data, want string }{
		{`"int"`, number(math.MinInt32), "-2147483648"},
		{`"long"`, number(math.MinInt64), "-9223372036854775808"},
		{`"long"`, number(math.MaxInt64), "9223372036854775807"},
		{`"float"`, "\xcd\xcc\xcc\x3d", "0.1"},
		{`"double"`, "\x00\x00\x00\x00\x00\x00\xf0\xff", "-Infinity"},
		{`"double"`, "\x00\x00\x00\x00\x00\x00\x08\x40", "3"},
		{`"double"`, "\x00\x00\x00\x00\x00\x00\x00\x80", "-0"},
		{`"boolean"`, "\x01", "true"},
		{`["null","string"]`, "\x02\x06\xe5\xbc\xa0", "张"},
		{`["null","string"]`, "\x00", "NULL"},
		{`["string","null"]`, "\x02", "NULL"},
		{`["null"]`, "\x00", "NULL"},
		{`"null"`, "", "NULL"},
		{`["int","null","string"]`, "\x04\x02x", "x"},
		{`["int","null","string"]`, "\x02", "NULL"},
		{logical("int", "date"), number(-1), "1969-12-31"},
		{logical("int", "date"), number(-719529), "-0001-12-31"},
		{logical("int", "time-millis"), number(3723004), "01:02:03.004"},
		{logical("long", "time-micros"), number(86399999990), "23:59:59.99999"},
		{logical("long", "timestamp-millis"), number(-1), "1970-01-01 07:59:59.999"},
		{logical("long", "timestamp-micros"), number(1), "1970-01-01 08:00:00.000001"},
		{logical("long", "timestamp-nanos"), number(1000), "1970-01-01 08:00:00.000001"},
		{logical("long", "timestamp-nanos"), number(math.MaxInt64), "2262-04-12 07:47:16.854775807"},
		{logical("long", "local-timestamp-millis"), number(0), "1970-01-01 00:00:00"},
		{logical("long", "local-timestamp-micros"), number(-1), "1969-12-31 23:59:59.999999"},
		{logical("long", "local-timestamp-nanos"), number(-1), "1969-12-31 23:59:59.999999999"},
		{logical("string", "timestamp-millis"), "\x02x", "x"}, // the logical type does not fit and is ignored
		{logical("long", "unheard-of"), number(5), "5"},
		{logical("string", "uuid"), "\x04ab", "ab"},
		{`{"type":"fixed","name":"f","size":16,"logicalType":"uuid"}`, "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", "00112233-4455-6677-8899-aabbccddeeff"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "\x04\x04\xce", "12.30"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "\x02\xff", "-0.01"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "\x00", "0.00"},
		{`{"type":"bytes","logicalType":"decimal","precision":4}`, "\x02\x80", "-128"},
		{decimal(17, 39, 1), "\x01" + strings.Repeat("\x00", 16), "34028236692093846346337460743176821145.6"},
		{decimal(17, 39, 1), "\xff" + strings.Repeat("\x00", 16), "-34028236692093846346337460743176821145.6"},
		{decimal(16, 38, 0), "\x80" + strings.Repeat("\x00", 15), "-170141183460469231731687303715884105728"},
		{decimal(130, 38, 2), strings.Repeat("\xff", 130), "-0.01"},
		{decimal(2, 5, 2), "ab", "ab"}, // five digits do not fit into two bytes: no decimal
		{`{"type":"enum","name":"e","symbols":["A","B"]}`, "\x02", "B"},
		{`{"type":"array","items":["null","double"]}`, "\x06\x02\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x02\x00\x00\x00\x00\x00\x00\xf8\x3f\x00", `["NaN",null,1.5]`},
		{`{"type":"map","values":"bytes"}`, "\x01\x0e\x06a\"\n\x04\xff\x00\x00", `{"a\"\n":"/wA="}`},
		{`{"type":"array","items":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}}`, "\x02\x02\x05\x00", `[0.05]`},
		{`{"type":"array","items":` + logical("long", "timestamp-millis") + `}`, "\x02\x00\x00", `["1970-01-01 08:00:00"]`},
		{`{"type":"array","items":` + logical("string", "uuid") + `}`, "\x02\x04\x01\x7f\x00", "[\"\\u0001\x7f\"]"},
		{`{"type":"array","items":"null"}`, "\x06\x00", `[null,null,null]`},
	} {
		file := fileOf(record(`"int"`, c.schema, `"int"`), "null", 1, []byte("\x0a"+c.data+"\x0c"))
		rows, err := readAll(t, file, []string{"v2", "v1", "v1"}, 0, int64(len(file)), Options{Location: shanghai})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		var want any = c.want
		if want == "NULL" {
			want = nil
		}
		if !slices.Equal(rows[0], []any{"6", want, want}) {
			t.Errorf("%s: %q, want %q", c.schema, rows[0], want)
		}
		// A skipped value takes the same number of bytes.
		rows, err = readAll(t, file, []string{"v2"}, 0, int64(len(file)), Options{})
		if err != nil || !slices.Equal(rows[0], []any{"6"}) {
			t.Errorf("%s: %q %v", c.schema, rows, err)
		}
	}
}

// TestFaults checks the position and the reason in the error of an invalid value.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ schema, data, want string }{
		{`"int"`, "\x80\x80\x80\x80\x10", "field v0: an int has more than 32 bits"},
		{`"boolean"`, "\x02", "field v0: a boolean is neither 0 nor 1"},
		{`["null","int"]`, "\x04", "field v0: a union has no branch of that number"},
		{`["null","int","string"]`, "\x01", "field v0: a union has no branch of that number"},
		{`{"type":"enum","name":"e","symbols":["A"]}`, "\x02", "field v0: an enum has no symbol of that number"},
		{`{"type":"array","items":"int"}`, "\x0c\x02", "field v0: an array or a map has more items than the data can hold"},
		{`{"type":"array","items":"int"}`, "\x01\x06\x02\x00\x00\x00", "field v0: the items of an array or a map do not take the bytes that it says"},
		{`{"type":"array","items":{"type":"record","name":"s","fields":[{"name":"a","type":"string"}]}}`, "\x02\x10", "field v0.[].a: a length exceeds the data"},
		{`{"type":"map","values":"boolean"}`, "\x02\x02k\x05\x00", "field v0.[]: a boolean is neither 0 nor 1"},
		{`["null",{"type":"fixed","name":"f","size":9}]`, "\x02abc", "field v0: the data end within a value"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "\x82\x10\x01" + strings.Repeat("x", 1024), "field v0: a decimal has more than 1024 bytes"},
	} {
		file := fileOf(record(c.schema), "null", 1, []byte(c.data))
		_, err := readAll(t, file, []string{"v0"}, 0, int64(len(file)), Options{})
		if err == nil || !strings.Contains(err.Error(), "record 1, "+c.want) {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
}

const nested = `{"type":"record","name":"top","fields":[
	{"name":"id","type":"long"},
	{"name":"addr","type":["null",{"type":"record","name":"addr_t","fields":[
		{"name":"city","type":["string","null"]},
		{"name":"geo","type":{"type":"record","name":"geo_t","fields":[{"name":"lat","type":"double"},{"name":"lon","type":"double"}]}}]}],"default":"wrong"},
	{"name":"old","type":["null","addr_t"]},
	{"name":"tags","type":{"type":"array","items":"string"}},
	{"name":"list","type":["null",{"type":"record","name":"node","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","node"]}]}]},
	{"name":"wait","type":{"type":"fixed","name":"d","size":12,"logicalType":"duration"}},
	{"name":"金额","type":"string","aliases":["9x"]}]}`

// TestColumns checks that columns are chosen by name and by path, and that the error of a refused column has its name.
func TestColumns(t *testing.T) {
	schema := strings.ReplaceAll(nested, `,"default":"wrong"`, "")
	schema = strings.ReplaceAll(schema, `"金额","type":"string","aliases":["9x"]`, `"x","type":"string"`)
	parsed, err := hamba.ParseWithCache(schema, "", &hamba.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	var block []byte
	geo := map[string]any{"lat": 31.5, "lon": 121.0}
	list := map[string]any{"node": map[string]any{"v": 1, "next": map[string]any{"node": map[string]any{"v": 2, "next": nil}}}}
	for _, v := range []map[string]any{
		{"id": 1, "addr": map[string]any{"addr_t": map[string]any{"city": map[string]any{"string": "上海"}, "geo": geo}}, "old": nil, "tags": []any{"a", "b"}, "list": list, "wait": hamba.LogicalDuration{Days: 3}, "x": "9.5"},
		{"id": 2, "addr": nil, "old": map[string]any{"addr_t": map[string]any{"city": nil, "geo": geo}}, "tags": []any{}, "list": nil, "wait": hamba.LogicalDuration{}, "x": ""},
	} {
		data, err := hamba.Marshal(parsed, v)
		if err != nil {
			t.Fatal(err)
		}
		block = append(block, data...)
	}
	file := fileOf(nested, "null", 2, block)
	columns := []string{"金额", "addr.city", "old.geo", "old.geo.lat", "tags", "id", "addr", "addr.city", "list.v", "list.next.v", "list.next.next.v"}
	rows, err := readAll(t, file, columns, 0, int64(len(file)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]any{
		{"9.5", "上海", nil, nil, `["a","b"]`, "1", `{"city":"上海","geo":{"lat":31.5,"lon":121}}`, "上海", "1", "2", nil},
		{"", nil, `{"lat":31.5,"lon":121}`, "31.5", "[]", "2", nil, nil, nil, nil, nil},
	} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("%q, want\n%q", rows[i], want)
		}
	}
	h, err := headed(nested)
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{
		"ID":        "Avro column ID: the schema has no such column",
		"addr.zip":  "Avro column addr.zip: the schema has no such column",
		"tags.x":    "Avro column tags.x: tags is of type array: only the whole of it can be a column",
		"list":      "Avro column list: next: the type node contains itself",
		"list.next": "Avro column list.next: next: the type node contains itself",
		"wait":      "Avro column wait: a duration has no text",
	} {
		_, err := Compile(h, []string{"id", column}, Options{})
		var e *ColumnError
		if !errors.As(err, &e) || e.Column != column || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", column, err)
		}
		if missing := strings.HasSuffix(want, "no such column"); errors.Is(err, ErrNoColumn) != missing {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestScalesAreLimited checks that a column is refused if its decimals have so many digits after the point that each value is long, wherever it has
// them, and that other columns are read.
func TestScalesAreLimited(t *testing.T) {
	decimal := func(scale int) string {
		return fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":500000000,"scale":%d}`, scale)
	}
	fields := `{"type":"record","name":"r","fields":[{"name":"id","type":"int"},{"name":"long","type":` + decimal(4097) + `},{"name":"list","type":{"type":"array","items":` + decimal(500_000_000) +
		`}},{"name":"wide","type":["null",` + decimal(4096) + `]}]}`
	h, err := headed(fields)
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"id": "", "wide": "", "long": "Avro column long: its decimals have 4097 digits after the point", "list": "Avro column list: its decimals have 500000000 digits after the point"} {
		if _, err := Compile(h, []string{"id", column}, Options{}); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", column, err, want)
		}
	}
}

// TestSchemas checks that valid or common schemas are read, and that others are refused with a reason.
func TestSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		record(`["string","null"],"default":null`): "",
		record(`"int"`, `"r"`):                     "", // a valid schema without a finite value
		`"string"`:                                 "values of type string, not records",
		`[` + record(`"int"`) + `]`:                "values of type union, not records",
		`{`:                                        "the schema is not JSON",
		record(`"other"`):                          "the schema is not valid: avro: unknown type: other",
		record(`{"type":"fixed","name":"f","size":-1}`):                                              "the schema is not valid",
		record(`{"type":"fixed","name":"f","size":1e9}`):                                             "",
		record(`{"type":"fixed","name":"f","size":2e9}`):                                             "more than 1 GiB",
		record(strings.Repeat(`{"type":"array","items":`, 300) + `"int"` + strings.Repeat(`}`, 300)): "more than 200 deep",
	} {
		_, err := headed(schema)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v", schema, err)
		}
	}
	for text, want := range map[string]string{"": "not begin as an Avro", "Obj\x02": "not begin as an Avro", "PAR1....": "not begin as an Avro", "Obj\x01": "the data end", "Obj\x01\x00" + strings.Repeat("x", 16): "no avro.schema"} {
		if _, err := ReadHeader(strings.NewReader(text), int64(len(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	big := fileOf(record(`"int","doc":"`+strings.Repeat("x", 1<<20)+`"`), "null", 1, []byte{0})
	if rows, err := readAll(t, big, []string{"v0"}, 0, int64(len(big)), Options{}); err != nil || len(rows) != 1 {
		t.Error(err)
	}
	big = fileOf(record(`"int","doc":"`+strings.Repeat("x", MaxHeader)+`"`), "null", 0, nil)
	var size *SizeError
	if _, err := ReadHeader(bytes.NewReader(big), int64(len(big))); !errors.As(err, &size) || size.What != "header" {
		t.Error(err)
	}
}

// TestDepth checks that the depth of nested records is limited, whether or not they are read.
func TestDepth(t *testing.T) {
	schema := `{"type":"record","name":"r","fields":[{"name":"l","type":{"type":"record","name":"node","fields":[{"name":"next","type":["null","node"]}]}},{"name":"id","type":"int"}]}`
	for n, want := range map[int]string{900: "", 1100: "more than 1000 deep"} {
		file := fileOf(schema, "null", 1, append(bytes.Repeat([]byte{2}, n), 0, 8))
		_, err := readAll(t, file, []string{"id"}, 0, int64(len(file)), Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %v", n, err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%d bytes of message", len(err.Error()))
		}
	}
}

// TestBombs checks that huge counts of items without bytes, and types that double in size, take neither time nor
// memory.
func TestBombs(t *testing.T) {
	fields := []string{`{"type":"record","name":"b0","fields":[{"name":"x","type":"null"}]}`}
	for i := range 40 {
		fields = append(fields, fmt.Sprintf(`{"type":"record","name":"b%d","fields":[{"name":"x","type":"b%d"},{"name":"y","type":"b%d"}]}`, i+1, i, i))
	}
	fields = append(fields, `{"type":"array","items":"b40"}`, `"int"`)
	data := append(appendNumber(nil, 1<<60), 0, 8)
	file := fileOf(record(fields...), "null", 1, data)
	rows, err := readAll(t, file, []string{"v42"}, 0, int64(len(file)), Options{})
	if err != nil || rows[0][0] != "4" {
		t.Error(rows, err)
	}
	var size *SizeError
	for _, column := range []string{"v41", "v40"} {
		if _, err = readAll(t, file, []string{column}, 0, int64(len(file)), Options{MaxText: 1 << 16}); !errors.As(err, &size) || size.Limit != 1<<16 || size.Need <= 1<<16 {
			t.Error(err)
		}
	}
}

// TestNoAllocation checks that reading records of every kind does not allocate.
func TestNoAllocation(t *testing.T) {
	data := sample(t, "fastavro/null.avro")
	nest := sample(t, "fastavro/types.avro")
	for _, data := range [][]byte{data, nest} {
		h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(h, h.Columns, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := NewBlocks(0)
		b.Open(h, bytes.NewReader(data), 0, h.Size)
		buf, block, err := b.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		buf = slices.Grow(buf, 1<<16)
		fields := make([]span.Span, len(h.Columns))
		if n := testing.AllocsPerRun(100, func() {
			at := block
			for err = nil; err == nil; {
				_, err = p.Record(buf, &at, fields)
			}
			if err != io.EOF {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
