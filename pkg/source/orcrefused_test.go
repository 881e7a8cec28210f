package source

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
)

// orcFile returns an uncompressed file: a stripe of rows, whose streams its footer describes, and a schema.
func orcFile(codec uint64, rows int, stripe []byte, footer []byte, fields [][]byte, types ...[]byte) []byte {
	number := func(b []byte, field protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
	}
	message := func(b []byte, field protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
	}
	data := append(append([]byte("ORC"), stripe...), footer...)
	var tail []byte
	if rows > 0 {
		tail = message(tail, 3, number(number(number(number(nil, 1, 3), 3, len(stripe)), 4, len(footer)), 5, rows))
	}
	for _, t := range types {
		tail = message(tail, 4, t)
	}
	tail = number(tail, 6, rows)
	for _, f := range fields {
		tail = append(tail, f...)
	}
	ps := message(number(number(nil, 1, len(tail)), 2, int(codec)), 8000, []byte("ORC"))
	return append(append(append(data, tail...), ps...), byte(len(ps)))
}

// orcType returns a type of a schema: its kind, its subtypes and their names.
func orcType(kind int, kids ...any) (t []byte) {
	t = protowire.AppendVarint(protowire.AppendTag(t, 1, protowire.VarintType), uint64(kind))
	for _, k := range kids {
		switch k := k.(type) {
		case int:
			t = protowire.AppendVarint(protowire.AppendTag(t, 2, protowire.VarintType), uint64(k))
		case string:
			t = protowire.AppendString(protowire.AppendTag(t, 3, protowire.BytesType), k)
		}
	}
	return t
}

// TestORCRefused checks the errors for files with unsupported or invalid features.
func TestORCRefused(t *testing.T) {
	whole, err := os.ReadFile(orcDir + "random-000.orc")
	if err != nil {
		t.Fatal(err)
	}
	schema := [][]byte{orcType(12, 1, 2, "a", "b"), orcType(4), orcType(99)}
	encrypted := protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType),
		protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), []byte{0x08, 1}))
	acid := [][]byte{orcType(12, 1, 2, 3, 4, 5, 6, "operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"),
		orcType(3), orcType(4), orcType(3), orcType(4), orcType(4), orcType(12, 7, "x"), orcType(4)}
	for name, tt := range map[string]struct {
		data []byte
		err  string
		o    Options
	}{
		"cut.orc":       {whole[:len(whole)-9], "it is not an ORC file, or it is truncated or damaged: ", Options{}},
		"text.orc":      {[]byte("a,b\n1,2\n"), "it is not an ORC file, or it is truncated or damaged: ", Options{}},
		"x.orc.gz":      {whole, "a packed ORC file cannot be read: unpack it first", Options{}},
		"lzo.orc":       {orcFile(3, 0, nil, nil, nil, schema...), "it is packed with LZO, which cannot be read: write it with zlib, snappy, zstd, lz4 or not packed", Options{}},
		"number.orc":    {orcFile(9, 0, nil, nil, nil, schema...), "it is packed with number 9, which cannot be read", Options{}},
		"type.orc":      {orcFile(0, 0, nil, nil, nil, schema...), `column "b": its type 99 is not known`, Options{}},
		"secret.orc":    {orcFile(0, 0, nil, nil, [][]byte{encrypted}, schema...), `column "a": it is encrypted: write it without encryption`, Options{Columns: []string{"a"}}},
		"acid.orc":      {orcFile(0, 0, nil, nil, nil, acid...), "a transactional table of Hive", Options{}},
		"none.orc":      {orcFile(0, 5, nil, []byte{0x12, 0}, nil, orcType(12)), "it has no columns", Options{}},
		"loop.orc":      {orcFile(0, 0, nil, nil, nil, orcType(12, 0, "a")), "schema: type 0 is out of order", Options{}},
		"rows.orc":      {orcFile(0, 5, nil, []byte{0x12, 0, 0x12, 0}, nil, orcType(12, 1, "a"), orcType(4)), `stripe 0, column a: it has fewer values than the stripe has rows`, Options{}},
		"zone.orc":      {orcFile(0, 5, nil, []byte{0x12, 0, 0x12, 0}, nil, orcType(12, 1, "a"), orcType(9)), `its stripes do not name the time zone of their timestamps`, Options{}},
		"encodings.orc": {orcFile(0, 5, nil, []byte{0x12, 0}, nil, orcType(12, 1, "a"), orcType(4)), `the footer of the stripe is damaged`, Options{}},
		"x.csv":         {whole, "begins and ends as a file of ORC: give `format` orc", Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.AllowEmpty = true
			path := writeFile(t, name, tt.data)
			if _, err := load(t, tt.o, path); err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	// Columns that are not chosen may be unreadable, and text may begin like ORC.
	if _, err := load(t, Options{Columns: []string{"a"}, AllowEmpty: true}, writeFile(t, "x", orcFile(0, 0, nil, nil, nil, schema...))); err != nil {
		t.Error(err)
	}
	if got, err := load(t, Options{}, writeFile(t, "y", []byte("ORC,a\n1,2\n"))); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
}

// TestORCStripes reads a file of three stripes, and checks that each is a split, and that rows are numbered within the file.
func TestORCStripes(t *testing.T) {
	in, err := Open(t.Context(), disk, []string{orcDir + "stripes.orc"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readAll(t.Context(), in)
	s := in.Splits()
	if err != nil || len(rows) != 2500 || len(s) != 3 || s[0].End != s[1].Start || s[2].End != 2500 || in.Records() != 2500 {
		t.Fatalf("%d rows, splits %+v, %v", len(rows), s, err)
	}
	again, err := Open(t.Context(), disk, []string{orcDir + "stripes.orc"}, Options{Splits: s})
	if err == nil {
		_, err = readAll(t.Context(), again)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range s {
		a, ok := in.Sum(i)
		if b, _ := again.Sum(i); !ok || a == 0 || a != b {
			t.Errorf("split %d: checksums %x and %x", i, a, b)
		}
	}
}

// TestORCMemory checks that a reader with less memory than its chunks and dictionaries require returns a MemoryError.
func TestORCMemory(t *testing.T) {
	_, err := load(t, Options{Memory: 100 << 10}, orcDir+"spark-shanghai-zlib.orc")
	var e *MemoryError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	big := bytes.Repeat([]byte("x"), 10<<20)
	stripe := append(protowire.AppendVarint([]byte{0xff}, uint64(len(big))), big...) // encoded in version 1: one length
	footer := []byte{0x0a, 4, 0x08, 2, 0x10, 1, 0x18}
	footer = append(footer[:1], append([]byte{6}, append([]byte{0x08, 2, 0x10, 1, 0x18}, byte(len(stripe)-len(big)))...)...)
	data := append([]byte{0x08, 1, 0x10, 1, 0x18}, protowire.AppendVarint(nil, uint64(len(big)))...)
	footer = append(append(append(footer, 0x0a, byte(len(data))), data...), 0x12, 0, 0x12, 0)
	path := writeFile(t, "big.orc", orcFile(0, 1, stripe, footer, nil, orcType(12, 1, "a"), orcType(7)))
	if got, err := load(t, Options{}, path); err != nil || len(got) != 1 || len(got[0].Values[0]) != len(big) {
		t.Fatal(len(got), err)
	}
	if _, err := load(t, Options{Memory: 8 << 20}, path); !errors.As(err, &e) || e.Need < int64(len(big)) {
		t.Fatalf("error %v", err)
	}
}

// TestPathsIntoValuesAreRefused checks that a chosen path into a column that is no struct is an error, also where missing columns are NULL, unless the
// path of the file has that column.
func TestPathsIntoValuesAreRefused(t *testing.T) {
	parquetOnes := filepath.Join(t.TempDir(), "id.x=7", "part.parquet")
	testcheck.Must(t, os.Mkdir(filepath.Dir(parquetOnes), 0o755))
	writeParquet(t, parquetOnes, []string{"id"}, [][]string{{"1"}}, 10)
	nested, hive := filepath.Join(parquetDir, "others/nested-arrow-v1.parquet"), orcDir+"hive-shanghai-snappy.orc"
	for _, tt := range []struct{ file, path, want string }{
		{nested, "id.x", `column "id.x": "id" is not a struct: only the whole of it can be a column`}, {nested, "addr.city.x", `"addr.city" is not a struct`},
		{nested, "ints.list.element", `"ints" is not a struct`}, {nested, "m.key", `"m" is not a struct`}, {nested, "addr.no", ""},
		{hive, "id.x", `column "id.x": "id" is not a struct: only the whole of it can be a column`}, {hive, "addr.tags.0", `"addr.tags" is not a struct`}, {hive, "addr.no", ""},
		{filepath.Dir(filepath.Dir(parquetOnes)), "id.x", ""},
	} {
		in, err := Open(t.Context(), disk, []string{tt.file}, Options{Columns: []string{"id", tt.path}, Missing: MissingNull})
		if tt.want == "" && err == nil {
			testcheck.Must(t, showRows(t, in, new([]string)))
		} else if tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: %v, want %q", tt.path, tt.file, err, tt.want)
		}
	}
}
