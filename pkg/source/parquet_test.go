package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/google/go-cmp/cmp"
)

const parquetDir = "../../testdata/source/parquet"

func TestParquetOrderAndZone(t *testing.T) {
	path := filepath.Join(parquetDir, "arrow-delta.parquet")
	in, err := Open(t.Context(), disk, []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := readAll(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	reversed := slices.Clone(in.Columns())
	slices.Reverse(reversed)
	got, err := load(t, Options{Columns: reversed, Location: time.FixedZone("", 8*3600)}, path)
	if err != nil {
		t.Fatal(err)
	}
	shifted := 0
	for i, r := range got {
		if r.Offset != int64(i) {
			t.Fatalf("row %d has the offset %d", i, r.Offset)
		}
		slices.Reverse(r.Values)
		for c, name := range in.Columns() {
			want := plain[i].Values[c]
			if name == "ts_utc" && want != "" {
				at, err := time.Parse("2006-01-02 15:04:05.999999", want)
				if err != nil {
					t.Fatal(err)
				}
				want = at.Add(8 * time.Hour).Format("2006-01-02 15:04:05.999999")
				shifted++
			}
			if r.Values[c] != want {
				t.Fatalf("row %d, column %s: %q, want %q", i, name, r.Values[c], want)
			}
		}
	}
	if shifted == 0 {
		t.Fatal("no timestamp was shifted")
	}
	// Each row group is a split, and rows are numbered within the file.
	if s := in.Splits(); len(s) != 2 || s[0].End != 90 || s[1].Start != 90 || s[1].End != 150 {
		t.Errorf("splits %+v", s)
	}
}

func TestParquetRefused(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(parquetDir, "arrow-checksum.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[200] ^= 1
	for _, tt := range []struct {
		name string
		data []byte
		err  string
	}{
		{"others/encrypted-footer.parquet", nil, "its footer is encrypted: write it without encryption"},
		{"others/encrypted-column.parquet", nil, "row group 0, column secret: it is encrypted: write it without encryption, or choose other columns"},
		{"truncated.parquet", whole[:len(whole)/2], "it is not a Parquet file, or it is truncated or damaged: "},
		{"headless.parquet", whole[:10], "it is not a Parquet file, or it is truncated or damaged: "},
		{"nothing.parquet", []byte{}, "it is not a Parquet file, or it is truncated or damaged: "},
		{"damaged.parquet", damaged, "row group 0, column id: page at byte 4: its checksum is wrong: the file is damaged"},
		{"packed.parquet.gz", whole, "a packed Parquet file cannot be read: unpack it first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(parquetDir, tt.name)
			if tt.data != nil {
				path = writeFile(t, tt.name, tt.data)
			}
			_, err := load(t, Options{AllowEmpty: true}, path)
			_, why, ok := strings.Cut(fmt.Sprint(err), filepath.Base(path)+": ")
			if !ok || !strings.HasPrefix(why, tt.err) { // the Parquet library's reason may follow
				t.Fatalf("error %v, want %q and the path", err, tt.err)
			}
		})
	}
}

// writeParquet writes rows as strings, with dictionaries and snappy pages.
func writeParquet(t testing.TB, path string, columns []string, rows [][]string, groupRows int) {
	t.Helper()
	var fields schema.FieldList
	for _, c := range columns {
		fields = append(fields, schema.NewByteArrayNode(c, parquet.Repetitions.Optional, -1))
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := file.NewParquetWriter(f, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))))
	for group := range slices.Chunk(rows, groupRows) {
		g := w.AppendRowGroup()
		for c := range columns {
			cw, err := g.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			values, levels := make([]parquet.ByteArray, 0, len(group)), make([]int16, len(group))
			for i, row := range group {
				if row[c] != "" {
					values = append(values, parquet.ByteArray(row[c]))
					levels[i] = 1
				}
			}
			if _, err := cw.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, levels, nil); err != nil {
				t.Fatal(err)
			}
			if err := cw.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestParquetLarge reads row groups of many pages, between which dictionaries and plain values alternate.
func TestParquetLarge(t *testing.T) {
	rows := checkRows(40_000)
	for i := range rows {
		if i%1000 == 0 {
			rows[i][6] = strings.Repeat(fmt.Sprint("long", i), 5000)
		}
	}
	path := filepath.Join(t.TempDir(), "check.parquet")
	writeParquet(t, path, checkColumns, rows, 15_000)
	got, err := load(t, Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(values(got), rows, slices.Equal) {
		t.Error("the rows differ:", cmp.Diff(rows, values(got))[:2000])
	}
}
