package source

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/hamba/avro/v2/ocf"
)

// textlessParquet writes a row with a number and an interval, and returns the file's path.
func textlessParquet(t *testing.T) string {
	t.Helper()
	id := schema.NewInt32Node("id", parquet.Repetitions.Required, -1)
	other, err := schema.NewPrimitiveNodeConverted("what", parquet.Repetitions.Required, parquet.Types.FixedLenByteArray, schema.ConvertedTypes.Interval, 12, 0, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{id, other}, -1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := file.NewParquetWriter(f, root)
	g := w.AppendRowGroup()
	for range g.NumColumns() {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = c.WriteBatch([]int32{7}, nil, nil)
		case *file.FixedLenByteArrayColumnChunkWriter:
			_, err = c.WriteBatch([]parquet.FixedLenByteArray{make([]byte, 12)}, nil, nil)
		}
		if err != nil || c.Close() != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTextlessColumns checks one rule for Parquet and Avro: a column whose type has no text is refused, unless other columns are chosen, or none are
// and extra columns are ignored.
func TestTextlessColumns(t *testing.T) {
	avroFile := func(typ string, record any) string {
		var b bytes.Buffer
		w, err := ocf.NewEncoder(`{"type":"record","name":"r","fields":[{"name":"id","type":"int"},{"name":"what","type":`+typ+`}]}`, &b, ocf.WithSchemaMarshaler(ocf.FullSchemaMarshaler))
		if err == nil {
			err = w.Encode(map[string]any{"id": 7, "what": record})
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return writeFile(t, "x.avro", b.Bytes())
	}
	for name, tt := range map[string]struct{ path, why string }{
		"interval":    {textlessParquet(t), "intervals have no form as text"},
		"recursive":   {avroFile(`{"type":"record","name":"n","fields":[{"name":"next","type":["null","n"]}]}`, map[string]any{"next": nil}), "the type n contains itself"},
		"big decimal": {avroFile(`{"type":"bytes","logicalType":"big-decimal"}`, []byte{2, 1, 0}), "a big-decimal cannot be read: write a decimal or a string"},
	} {
		for _, o := range []Options{{}, {Extra: ExtraFail}, {Columns: []string{"id", "what"}}, {Columns: []string{"what"}, Extra: ExtraIgnore}} {
			_, err := chosenRows(t, o, tt.path)
			if err == nil || !strings.Contains(err.Error(), tt.why) || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), "column what") {
				t.Errorf("%s %v %q: %v", name, o.Columns, o.Extra, err)
			} else if advised := strings.Contains(err.Error(), "choose columns, or give `extra` ignore"); advised != (len(o.Columns) == 0) {
				t.Errorf("%s %v %q: %v", name, o.Columns, o.Extra, err)
			}
		}
		for _, o := range []Options{{Extra: ExtraIgnore}, {Columns: []string{"id"}}} {
			in, err := Open(t.Context(), disk, []string{tt.path}, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rows, err := rowsOf(t, in)
			if err != nil || fmt.Sprint(rows) != "[map[id:7]]" || fmt.Sprint(in.Files()[0].Ignored) != "[what]" {
				t.Errorf("%s %v: %v, %v, ignored %v", name, o.Columns, rows, err, in.Files()[0].Ignored)
			}
		}
	}
}

// TestHeadTexts checks that a head has at most as much text as is asked for, and none of a limit below 0.
func TestHeadTexts(t *testing.T) {
	heads, _, err := Heads(t.Context(), disk, writeFile(t, "a.csv", []byte("id\n1\n")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{math.MinInt: "", -1: "", 0: "", 2: "id", 5: "id\n1\n", 6: "id\n1\n", math.MaxInt: "id\n1\n"} {
		text, whole, err := heads[0].Text(t.Context(), limit)
		if string(text) != want || whole != (limit >= 5) || err != nil {
			t.Errorf("limit %d: %q, whole %v, %v", limit, text, whole, err)
		}
	}
}

// TestPlacesOutsideTheFile checks that an offset that no record has, too, is described.
func TestPlacesOutsideTheFile(t *testing.T) {
	path := writeFile(t, "a.csv", []byte("id\n1\n"))
	in, err := Open(t.Context(), disk, []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64]string{3: " at offset 3 (line 2)", -5: " at offset -5", math.MinInt64: " at offset -9223372036854775808", 1 << 62: " at offset 4611686018427387904"} {
		if place := in.Place(0, offset); place != path+want {
			t.Errorf("%s, want %s", place, want)
		}
		if place := in.PlaceOf(0, offset); place.Offset != offset {
			t.Errorf("%+v", place)
		}
	}
}

// TestSplitsThatDoNotExist checks that what is asked of a split that does not exist has an answer.
func TestSplitsThatDoNotExist(t *testing.T) {
	in, err := Open(t.Context(), memory("/x.csv", []byte("a,b\n1,2\n")), []string{"/x.csv"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []int{-1, 1, math.MaxInt} {
		sum, ok := in.Sum(split)
		if place := in.Place(split, 3); place != fmt.Sprintf("split %d, which does not exist", split) || in.PlaceOf(split, 3) != (Place{}) || sum != 0 || ok || in.RecordsOf(split, split+1) != 0 {
			t.Errorf("split %d: %s, %+v, %d %t", split, place, in.PlaceOf(split, 3), sum, ok)
		}
	}
	if n := in.RecordsOf(-5, math.MaxInt); n != 0 {
		t.Errorf("%d records are read", n)
	}
}
