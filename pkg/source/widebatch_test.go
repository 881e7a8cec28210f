package source

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// seen is what the batches of an input say of a record.
type seen struct {
	Offset, Number int64
	Error          string
	Values         string
}

// TestBatchesOfManyColumns reads short records with many columns that they do not have, and checks that no batch has more values than its text has
// bytes, and that places, numbers, texts and sizes are those of one batch.
func TestBatchesOfManyColumns(t *testing.T) {
	const rows = 30_000
	lines := func(form string) string {
		var b strings.Builder
		for i := range rows {
			fmt.Fprintf(&b, form, i)
			if i%7000 == 6999 {
				b.WriteString("a,b,c\n") // a bad record
			}
		}
		return b.String()
	}
	columns := []string{"id"}
	for c := range 200 {
		columns = append(columns, fmt.Sprintf("c%d", c))
	}
	positions := make([]string, len(columns))
	for i, name := range columns {
		positions[i] = name + "=1-7"
	}
	hive := dialectOf(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep = "," })
	for _, tt := range []struct {
		name, file, text string
		o                Options
	}{
		{"CSV", "x.csv", "id\n" + lines("%d\n"), Options{}},
		{"text", "x.txt", lines("%d,7\n"), Options{Dialect: hive}},
		{"dump", "x.dat", lines("%d,7\n"), Options{Format: FormatDump, FieldSep: SepOf(','), RecordSep: SepOf('\n')}},
		{"JSON", "x.jsonl", lines("{\"id\":%d}\n\n"), Options{}},
		{"escapes in JSON", "x.jsonl", lines("{\"id\":\"\\u0041%d\"}\n"), Options{}},
		{"fixed columns", "x.txt", lines("%07d\n"), Options{Format: FormatFixed, Dialect: fixed(t, nil, positions...)}},
		{"a partition", "k=v/x.csv", "id\n" + lines("%d\n"), Options{Partitions: []string{PartitionsAuto}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			testcheck.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			testcheck.Must(t, os.WriteFile(path, []byte(tt.text), 0o600))
			o := tt.o
			o.Columns, o.Missing = columns, MissingNull
			if o.Partitions != nil {
				o.Columns = append(slices.Clone(columns), "k")
			}
			got, size, batches := readSeen(t, path, o, func(o *Options, b *Batch) {
				if n := b.Rows * b.Cols; n > o.ChunkSize {
					t.Fatalf("%d rows of %d columns: %d values in a batch", b.Rows, b.Cols, n)
				}
			})
			o.ChunkSize = 64 << 20
			want, bytes, _ := readSeen(t, path, o, func(*Options, *Batch) {})
			if batches < 10 || size != bytes || len(want) < rows || !reflect.DeepEqual(got, want) {
				t.Errorf("%d records in %d batches of %d bytes, want %d of %d", len(got), batches, size, len(want), bytes)
			}
		})
	}
}

// readSeen reads all records, good and bad, of a file.
func readSeen(t *testing.T, path string, o Options, check func(*Options, *Batch)) (all []seen, size int64, batches int) {
	t.Helper()
	o.Reject = func(e RowError) error {
		all = append(all, seen{e.Offset, e.Record, e.Error(), string(e.Raw)})
		return nil
	}
	in, err := Open(t.Context(), disk, []string{path}, o)
	testcheck.Must(t, err)
	r := in.NewReader()
	for i := range in.Splits() {
		testcheck.Must(t, r.Read(t.Context(), i, func(b *Batch) error {
			check(&in.opts, b)
			batches++
			size += b.Bytes
			for row := range b.Rows {
				e := b.RowError(row)
				last := b.Field(row, b.Cols-1)
				all = append(all, seen{b.Offsets[row], b.First + int64(row), string(e.Raw), string(b.Field(row, 0)) + string(b.Field(row, 1)) + string(last)})
			}
			return nil
		}))
	}
	return all, size, batches
}
