package avro

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	source "math/rand"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/race"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// world makes random schemas, and values of them in the types that the library takes.
type world struct {
	*rand.Rand
	names int
}

func (w *world) name() string {
	w.names++
	return fmt.Sprintf("n%d", w.names)
}

// schema returns a random type as JSON.
func (w *world) schema(depth int, union bool) any {
	logical := func(kind, name string) any { return map[string]any{"type": kind, "logicalType": name} }
	most := 24
	if depth == 0 {
		most = 18
	}
	switch w.IntN(most) {
	case 0:
		return "boolean"
	case 1:
		return "int"
	case 2:
		return "long"
	case 3:
		return "float"
	case 4:
		return "double"
	case 5:
		return "bytes"
	case 6, 7, 8:
		return "string"
	case 9:
		return map[string]any{"type": "fixed", "name": w.name(), "size": w.IntN(5)}
	case 10:
		return map[string]any{"type": "enum", "name": w.name(), "symbols": []string{"RED", "GREEN", "BLUE"}}
	case 11:
		p := 1 + w.IntN(60)
		return map[string]any{"type": "bytes", "logicalType": "decimal", "precision": p, "scale": w.IntN(p + 1)}
	case 12:
		size := 1 + w.IntN(20)
		p := 1 + w.IntN(max(1, int(float64(8*size-1)*math.Log10(2))))
		return map[string]any{"type": "fixed", "name": w.name(), "size": size, "logicalType": "decimal", "precision": p, "scale": w.IntN(p + 1)}
	case 13:
		return logical("int", "date")
	case 14:
		return logical("int", "time-millis")
	case 15:
		return logical("long", "time-micros")
	case 16:
		return logical("long", "timestamp-millis")
	case 17:
		return logical("long", "timestamp-micros")
	case 18:
		return map[string]any{"type": "array", "items": w.schema(depth-1, false)}
	case 19:
		return map[string]any{"type": "map", "values": w.schema(depth-1, false)}
	case 20:
		return w.record(depth - 1)
	}
	if union {
		return "string"
	}
	other := w.schema(depth-1, true)
	switch w.IntN(4) {
	case 0:
		return []any{other, "null"}
	case 1:
		return []any{"null", map[string]any{"type": "map", "values": "int"}, "boolean", map[string]any{"type": "fixed", "name": w.name(), "size": 2}}
	}
	return []any{"null", other}
}

func (w *world) record(depth int) any {
	var fields []any
	for i := range 1 + w.IntN(6) {
		fields = append(fields, map[string]any{"name": fmt.Sprintf("f%d", i), "type": w.schema(depth, false)})
	}
	return map[string]any{"type": "record", "name": w.name(), "fields": fields}
}

func (w *world) bytes() []byte {
	b := make([]byte, w.IntN(1+w.IntN(300)))
	for i := range b {
		b[i] = byte(w.Uint32())
	}
	return b
}

func (w *world) long() int64 { return int64(w.Uint64()) >> w.IntN(64) }

// value returns a random value of a type.
func (w *world) value(s hamba.Schema) any {
	var l hamba.LogicalType
	if ls, ok := s.(hamba.LogicalTypeSchema); ok && ls.Logical() != nil {
		l = ls.Logical().Type()
	}
	decimal := func() any {
		d := s.(hamba.LogicalTypeSchema).Logical().(*hamba.DecimalLogicalSchema)
		n := new(big.Int).Rand(source.New(source.NewSource(w.Int64())), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(w.IntN(d.Precision()+1))), nil))
		if w.IntN(2) == 0 {
			n.Neg(n)
		}
		return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale())), nil))
	}
	switch s := s.(type) {
	case *hamba.RefSchema:
		return w.value(s.Schema())
	case *hamba.RecordSchema:
		v := map[string]any{}
		for _, f := range s.Fields() {
			v[f.Name()] = w.value(f.Type())
		}
		return v
	case *hamba.ArraySchema:
		v := make([]any, w.IntN(4))
		for i := range v {
			v[i] = w.value(s.Items())
		}
		return v
	case *hamba.MapSchema:
		v := map[string]any{}
		for range w.IntN(4) {
			v[string(strconv.AppendQuote(nil, string(w.bytes())))] = w.value(s.Values())
		}
		return v
	case *hamba.UnionSchema:
		t := s.Types()[w.IntN(len(s.Types()))]
		if t.Type() == hamba.Null {
			return nil
		}
		return map[string]any{branchName(t): w.value(t)}
	case *hamba.EnumSchema:
		return s.Symbols()[w.IntN(len(s.Symbols()))]
	case *hamba.FixedSchema:
		if l == hamba.Decimal {
			return decimal()
		}
		v := reflect.New(reflect.ArrayOf(s.Size(), reflect.TypeFor[byte]())).Elem()
		for i := range s.Size() {
			v.Index(i).SetUint(uint64(w.Uint32() & 0xff))
		}
		return v.Interface()
	}
	switch s.Type() {
	case hamba.Boolean:
		return w.IntN(2) == 0
	case hamba.Int:
		switch l {
		case hamba.Date:
			return time.Unix(86400*int64(w.IntN(200000)-100000), 0).UTC()
		case hamba.TimeMillis:
			return time.Duration(w.IntN(86400000)) * time.Millisecond
		}
		return int(int32(w.long()))
	case hamba.Long:
		switch l {
		case hamba.TimeMicros:
			return time.Duration(w.Int64N(86400e6)) * time.Microsecond
		case hamba.TimestampMillis:
			return time.UnixMilli(w.Int64N(1e14) - 5e13).UTC()
		case hamba.TimestampMicros:
			return time.UnixMicro(w.Int64N(1e17) - 5e16).UTC()
		}
		return w.long()
	case hamba.Float:
		return math.Float32frombits(w.Uint32())
	case hamba.Double:
		return math.Float64frombits(w.Uint64())
	case hamba.Bytes:
		if l == hamba.Decimal {
			return decimal()
		}
		return w.bytes()
	}
	return strconv.Quote(string(w.bytes()))
}

// TestOracle compares rows of random schemas with the values that the library decodes from the same bytes.
func TestOracle(t *testing.T) {
	seeds := uint64(400)
	if race.Reduced(t) {
		seeds = 60
	}
	for seed := range seeds {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 1))}
		text, _ := json.Marshal(w.record(3))
		schema, err := hamba.ParseBytesWithCache(text, "", &hamba.SchemaCache{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var records [][]byte
		for range w.IntN(20) {
			data, err := hamba.Marshal(schema, w.value(schema))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			records = append(records, data)
		}
		codec := []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard}[seed%4]
		data := container(t, string(text), records, ocf.WithCodec(codec), ocf.WithBlockLength(1+w.IntN(5)))
		record := schema.(*hamba.RecordSchema)
		var columns []string
		var chosen []*hamba.Field
		for range 1 + w.IntN(8) {
			f := record.Fields()[w.IntN(len(record.Fields()))]
			chosen, columns = append(chosen, f), append(columns, f.Name())
		}
		got, err := readAll(t, data, columns, 0, int64(len(data)), Options{})
		if err != nil {
			t.Fatalf("seed %d, %s: %v", seed, text, err)
		}
		if len(got) != len(records) {
			t.Fatalf("%d rows, want %d", len(got), len(records))
		}
		for n, r := range records {
			reader := hamba.NewReader(bytes.NewReader(r), 1024)
			values := reader.ReadNext(schema).(map[string]any)
			if reader.Error != nil {
				t.Fatal(reader.Error)
			}
			for i, f := range chosen {
				if want := judged(f.Type(), values[f.Name()], false); !same(t, got[n][i], want) {
					t.Fatalf("seed %d, %s, row %d, %s:\n%q, want\n%q", seed, text, n, columns[i], got[n][i], want)
				}
			}
		}
	}
}

// container returns a file of encoded records.
func container(t testing.TB, schema string, records [][]byte, o ...ocf.EncoderFunc) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := ocf.NewEncoder(schema, &file, append(o, ocf.WithEncoderSchemaCache(&hamba.SchemaCache{}), ocf.WithSchemaMarshaler(ocf.FullSchemaMarshaler))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// branchName returns the name of a type in a union's value, in the library's form.
func branchName(s hamba.Schema) string {
	if r, ok := s.(*hamba.RefSchema); ok {
		return r.Schema().FullName()
	}
	if n, ok := s.(hamba.NamedSchema); ok {
		return n.FullName()
	}
	if l, ok := s.(hamba.LogicalTypeSchema); ok && l.Logical() != nil {
		return string(s.Type()) + "." + string(l.Logical().Type())
	}
	return string(s.Type())
}

// judged returns the expected field for a value of the library: nil, a text, or for JSON the value that it parses to.
func judged(s hamba.Schema, v any, inJSON bool) any {
	number := func(text string) any {
		if inJSON {
			return json.Number(text)
		}
		return text
	}
	float := func(f float64, bits int) any {
		text := strconv.FormatFloat(f, 'f', -1, bits)
		switch a := math.Abs(f); {
		case math.IsNaN(f):
			return "NaN"
		case math.IsInf(f, 0):
			return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
		case a >= 1e21 || a < 1e-6 && a > 0:
			text = strconv.FormatFloat(f, 'e', -1, bits)
		}
		return number(text)
	}
	octets := func(b []byte) any {
		if inJSON {
			return base64.StdEncoding.EncodeToString(b)
		}
		return string(b)
	}
	if r, ok := s.(*hamba.RefSchema); ok {
		s = r.Schema()
	}
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		if inJSON {
			return v
		}
		return strconv.FormatBool(v)
	case int, int64:
		return number(fmt.Sprint(v))
	case float32:
		return float(float64(v), 32)
	case float64:
		return float(v, 64)
	case string:
		return v
	case []byte:
		return octets(v)
	case *big.Rat:
		return number(v.FloatString(s.(hamba.LogicalTypeSchema).Logical().(*hamba.DecimalLogicalSchema).Scale()))
	case time.Duration:
		return time.Time{}.Add(v).Format("15:04:05.999999")
	case time.Time:
		if s.Type() == hamba.Int {
			return v.Format("2006-01-02")
		}
		return v.Format("2006-01-02 15:04:05.999999")
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, judged(s.(*hamba.ArraySchema).Items(), item, true))
		}
		return list
	case map[string]any:
		all := map[string]any{}
		switch s := s.(type) {
		case *hamba.UnionSchema:
			for _, b := range s.Types() {
				if value, ok := v[branchName(b)]; ok {
					return judged(b, value, inJSON)
				}
			}
		case *hamba.MapSchema:
			for key, item := range v {
				all[key] = judged(s.Values(), item, true)
			}
		case *hamba.RecordSchema:
			for _, f := range s.Fields() {
				all[f.Name()] = judged(f.Type(), v[f.Name()], true)
			}
		}
		return all
	}
	b := make([]byte, reflect.ValueOf(v).Len())
	reflect.Copy(reflect.ValueOf(b), reflect.ValueOf(v))
	return octets(b)
}

func same(t *testing.T, got, want any) bool {
	t.Helper()
	switch want.(type) {
	case nil, string:
		return got == want
	}
	text, _ := got.(string)
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return reflect.DeepEqual(v, want)
}
