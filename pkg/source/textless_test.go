package source

import (
	"bytes"
	"fmt"
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
