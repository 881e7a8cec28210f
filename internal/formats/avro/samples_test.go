package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/source/span"
)

// readAll returns the texts of the chosen columns of a split, in order; nil is NULL.
func readAll(t testing.TB, data []byte, columns []string, from, to int64, o Options) ([][]any, error) {
	t.Helper()
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	p, err := Compile(h, columns, o)
	if err != nil {
		return nil, err
	}
	b := NewBlocks(0)
	b.Open(h, bytes.NewReader(data), from, to)
	fields := make([]span.Span, len(columns))
	var rows [][]any
	for {
		buf, block, err := b.Next(nil)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for {
			buf, err = p.Record(buf, &block, fields)
			if err == io.EOF {
				break
			}
			if err != nil {
				return rows, err
			}
			row := make([]any, len(fields))
			for i, f := range fields {
				if !f.IsNull() {
					row[i] = string(f.Of(buf))
				}
			}
			rows = append(rows, row)
		}
	}
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSamples compares the rows of files of fastavro and Spark with the rows that were written.
func TestSamples(t *testing.T) {
	for name, rows := range map[string]string{
		"fastavro/null.avro": "rows.jsonl", "fastavro/deflate.avro": "rows.jsonl", "fastavro/snappy.avro": "rows.jsonl", "fastavro/bzip2.avro": "rows.jsonl", "fastavro/xz.avro": "rows.jsonl",
		"spark/avro-uncompressed.avro": "rows-utc.jsonl", "spark/avro-deflate.avro": "rows-utc.jsonl", "spark/avro-snappy.avro": "rows-utc.jsonl", "spark/avro-zstandard.avro": "rows-utc.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			data := sample(t, name)
			all := []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
			for _, columns := range [][]string{all, {"ts", "remark", "id"}, {"amount"}} {
				var want [][]any
				for line := range strings.Lines(string(sample(t, rows))) {
					var values map[string]any
					if err := json.Unmarshal([]byte(line), &values); err != nil {
						t.Fatal(err)
					}
					row := make([]any, len(columns))
					for i, c := range columns {
						row[i] = values[c]
					}
					want = append(want, row)
				}
				got, err := readAll(t, data, columns, 0, int64(len(data)), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != len(want) || len(got) != 44 {
					t.Fatalf("%d rows, want %d", len(got), len(want))
				}
				for i := range got {
					if !slices.Equal(got[i], want[i]) {
						t.Errorf("row %d:\n%q, want\n%q", i+1, got[i], want[i])
					}
				}
			}
		})
	}
}

// TestUnknownCodec checks that a header with a refused codec returns the codec's name and the columns.
func TestUnknownCodec(t *testing.T) {
	data := bytes.Replace(sample(t, "fastavro/xz.avro"), []byte("\x04xz"), []byte("\x04x2"), 1)
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	var codec *CodecError
	if !errors.As(err, &codec) || codec.Codec != "x2" || !strings.Contains(err.Error(), "codec x2 is not supported") {
		t.Fatal(err)
	}
	if len(h.Columns) != 9 {
		t.Error(h.Columns)
	}
}

// TestTypes reads a file of fastavro with many types.
func TestTypes(t *testing.T) {
	data := sample(t, "fastavro/types.avro")
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	want := "id long, kind enum, f4 fixed, u union, tags array, m map, sub record, uuid uuid, tm time-millis, tsms timestamp-millis, fl float, db double, b bytes"
	var got []string
	for i := range h.Columns {
		got = append(got, h.Columns[i]+" "+h.Types[i])
	}
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s, want\n%s", s, want)
	}
	rows, err := readAll(t, data, append(slices.Clone(h.Columns), "sub.a"), 0, int64(len(data)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	expected := [][]any{
		{"1", "A", "abcd", nil, `["x",null]`, `{"k":1}`, `{"a":1}`, "00112233-4455-6677-8899-aabbccddeeff", "01:02:03.004", "2026-03-05 08:09:10.123", "1.5", "0.1", "\x00\xff", "1"},
		{"2", "B", "\x00\x00\x00\x01", "text", `[]`, `{}`, `{"a":-1}`, "00000000-0000-0000-0000-000000000000", "00:00:00", "1969-12-31 23:59:59.999", "NaN", "1e+300", "", "-1"},
	}
	for i, want := range expected {
		if !slices.Equal(rows[i], want) {
			t.Errorf("%q, want\n%q", rows[i], want)
		}
	}
}
