package source

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bulkload/internal/formats/compression"
	"bulkload/internal/test/testcheck"
)

func TestDump(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tt := range []struct {
		name, in string
		o        Options
		want     [][]string
		err      string
	}{
		{name: "records", in: "1\x012\x103\x014\x10", want: [][]string{{"1", "2"}, {"3", "4"}}},
		{name: "no last separator", in: "1\x012\x103\x014", want: [][]string{{"1", "2"}, {"3", "4"}}},
		{name: "trailing empty columns", in: "1\x01\x10\x01\x10\x01", want: [][]string{{"1", ""}, {"", ""}, {"", ""}}},
		{name: "commas, quotes, line feeds", in: "a,\"\x01b\n\r\n\x10", want: [][]string{{"a,\"", "b\n\r\n"}}},
		{name: "nothing", in: ""},
		{name: "one empty column", in: "\x10x\x10", o: Options{Columns: []string{"a"}}, want: [][]string{{""}, {"x"}}},
		{name: "other separators", in: "1|2;3\x01\x10|4;", o: Options{FieldSep: SepOf('|'), RecordSep: SepOf(';')}, want: [][]string{{"1", "2"}, {"3\x01\x10", "4"}}},
		{name: "zero and 0xff", in: "1\x002\xff\x80\x00\x7f\xff", o: Options{FieldSep: SepOf(0), RecordSep: SepOf(0xff)}, want: [][]string{{"1", "2"}, {"\x80", "\x7f"}}},
		{name: "too few", in: "1\x012\x103\x10", err: "/x.dump: record 2 at byte 4: 1 column found, 2 expected"},
		{name: "too many", in: "1\x012\x013\x10", err: "/x.dump: record 1 at byte 0: 3 columns found, 2 expected"},
		{name: "a line feed behind the last separator", in: "1\x012\x10\n", err: "/x.dump: record 2 at byte 4: 1 column found, 2 expected"},
		{name: "an empty record", in: "1\x012\x10\x101\x012\x10", err: "/x.dump: record 2 at byte 4: 1 column found, 2 expected"},
		{name: "the same separators", in: "1", o: Options{FieldSep: SepOf(';'), RecordSep: SepOf(';')}, err: "field and record separator are the same byte ;"},
		{name: "a record that is too long", in: "1\x012\x10" + strings.Repeat("x", 99) + "\x01\x10", o: Options{MaxRecord: 100}, err: "/x.dump: record 2 at byte 4: the record is longer than 100 bytes: a separator is missing"},
		{name: "a record that is just short enough", in: strings.Repeat("x", 98) + "\x01\x10", o: Options{MaxRecord: 100}, want: [][]string{{strings.Repeat("x", 98), ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := range 9 {
				o := tt.o
				o.Format, o.ChunkSize, o.SplitSize = FormatDump, size, int64(size/2)
				if o.Columns == nil {
					o.Columns = ab
				}
				got, err := loadBytes(t, o, "x.dump", []byte(tt.in))
				if tt.err != "" {
					if fmt.Sprint(err) != tt.err {
						t.Fatalf("size %d: error %v, want %s", size, err, tt.err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("size %d: %v", size, err)
				}
				if diff := cmp.Diff(tt.want, values(got)); diff != "" {
					t.Errorf("size %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestDumpNeedsColumns(t *testing.T) {
	for _, o := range []Options{{}, {Format: FormatDump}} {
		if _, err := loadBytes(t, o, "x.dump", []byte("a\x01b\x10")); !errors.Is(err, errNoColumns) {
			t.Errorf("error %v, want %v", err, errNoColumns)
		} else if !errors.Is(err, ErrNoHeader) || !strings.Contains(err.Error(), "give `columns`") {
			t.Errorf("error %v: it names no setting, or is of another kind than that of other text", err)
		}
	}
}

// TestDumpAdviceIsNotRepeated checks that text which is no dump, but is read as one on request, is not advised to be read as a dump.
func TestDumpAdviceIsNotRepeated(t *testing.T) {
	text := []byte("a\x01b\n")
	_, err := loadBytes(t, Options{Columns: []string{"x", "y"}}, "x.txt", text)
	if err == nil || !strings.Contains(err.Error(), "`format` dump reads a dump of one record") {
		t.Errorf("without a format: %v", err)
	}
	_, err = loadBytes(t, Options{Columns: []string{"x", "y"}, Format: FormatDump}, "x.txt", text)
	if err == nil || strings.Contains(err.Error(), "`format` dump") || !strings.Contains(err.Error(), "give `record_sep`") {
		t.Errorf("as a dump: %v", err)
	}
}

// plainDump cuts a dump with the standard library.
func plainDump(data []byte, f, r byte) [][]string {
	if len(data) == 0 {
		return nil
	}
	var rows [][]string
	for record := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte{r}), []byte{r}) {
		var row []string
		for v := range bytes.SplitSeq(record, []byte{f}) {
			row = append(row, string(v))
		}
		rows = append(rows, row)
	}
	return rows
}

// TestSplitsOfDump compares all ways to split any bytes with the standard library, for any two separators.
func TestSplitsOfDump(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		seps := rapid.SliceOfNDistinct(rapid.Byte(), 3, 3, rapid.ID[byte]).Draw(t, "separators and a byte")
		data := rapid.OneOf(rapid.SliceOfN(rapid.SampledFrom(seps), 0, 60), rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom(seps)), 0, 300)).Draw(t, "data")
		o := Options{Format: FormatDump, FieldSep: SepOf(seps[0]), RecordSep: SepOf(seps[1]), Columns: []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "cols")],
			SplitSize: int64(rapid.IntRange(1, len(data)+1).Draw(t, "split")), ChunkSize: rapid.IntRange(1, 100).Draw(t, "chunk")}
		if compression.Begins(data) != "" {
			return // the first bytes are those of a compressed file
		}
		got := read(t, "x", data, o)
		if otherText(data, seps[1]) {
			if !strings.Contains(got.Err, "ends with a line feed") {
				t.Fatalf("error %q", got.Err)
			}
			return
		}
		var want [][]string
		bad := 0
		for _, row := range plainDump(data, seps[0], seps[1]) {
			if len(row) == len(o.Columns) {
				want = append(want, row)
			} else {
				bad++
			}
		}
		if diff := cmp.Diff(want, values(got.Good)); diff != "" || got.Err != "" || len(got.Bad) != bad {
			t.Fatalf("error %q, %d bad, want %d (-want +got):\n%s", got.Err, len(got.Bad), bad, diff)
		}
		o.SplitSize, o.ChunkSize = 0, 0
		if diff := cmp.Diff(read(t, "x", data, o), got); diff != "" {
			t.Fatalf("(-whole +split):\n%s", diff)
		}
	})
}

// otherText reports whether data is text with line feeds and without any record separator.
func otherText(data []byte, record byte) bool {
	return bytes.HasSuffix(data, []byte("\n")) && bytes.IndexByte(data, record) < 0
}

func FuzzDump(f *testing.F) {
	f.Add([]byte("a\x01b\x10c\x01d"), byte(1), byte(0x10), 3, 2)
	f.Add([]byte(strings.Repeat("规则\x01\x10", 30)), byte(1), byte(0x10), 64, 64)
	f.Add([]byte("\x00\xff\x00\xff\xff"), byte(0), byte(0xff), 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, fieldSep, recordSep byte, chunk, split int) {
		if fieldSep == recordSep || otherText(data, recordSep) || mayStray(data) {
			t.Skip()
		}
		o := Options{Format: FormatDump, FieldSep: SepOf(fieldSep), RecordSep: SepOf(recordSep), Columns: []string{"first column", "second column"},
			ChunkSize: 1 + abs(chunk)%4096, SplitSize: int64(1 + abs(split)%(len(data)+1)), Reject: func(RowError) error { return nil }}
		got, err := loadBytes(t, o, "x", data)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, row := range plainDump(data, fieldSep, recordSep) {
			if len(row) != 2 {
				continue
			}
			if i >= len(got) || got[i].Values[0] != row[0] || got[i].Values[1] != row[1] {
				t.Fatalf("record %d of %q", i, data)
			}
			i++
		}
		if i != len(got) {
			t.Fatalf("%d records, want %d", len(got), i)
		}
	})
}
