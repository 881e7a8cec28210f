package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/listing"

	"github.com/klauspost/compress/zstd"
)

// TestFieldsOfALongLineAreNotKept checks that a reader of a dialect drops the fields of a line with far too many separators when its split ends.
func TestFieldsOfALongLineAreNotKept(t *testing.T) {
	o := Options{Dialect: dialectOf(t, dialect.Hive, func(*dialect.Dialect) {}), Columns: []string{"a", "b"}, Reject: func(RowError) error { return nil }}
	in, err := Open(t.Context(), memory("/x.txt", bytes.Repeat([]byte{1}, 4<<20)), []string{"/x.txt"}, o)
	testcheck.Must(t, err)
	r := in.NewReader()
	testcheck.Must(t, r.Read(t.Context(), 0, func(*Batch) error { return nil }))
	if n := cap(r.readers[FormatText].(*delimitedReader).scanner.Fields); n > 2<<20 {
		t.Errorf("%d fields are kept", n)
	}
}

// TestFieldsBeyondTheColumnsAreCounted checks that the fields of a line with far too many separators are counted in its reason and take no memory, wherever
// blocks and chunks end.
func TestFieldsBeyondTheColumnsAreCounted(t *testing.T) {
	for _, many := range []int{1, 2, 3, 60, 63, 64, 65, 66, 127, 128, 129, 130, 200, 1000, 1 << 20} {
		for pad := range 3 {
			for _, o := range []Options{{Header: HeaderNone}, {Format: FormatDump, FieldSep: SepOf(','), RecordSep: SepOf('\n')}} {
				data := strings.Repeat("x", pad) + "1,2\n" + strings.Repeat(",", many) + "\n3,4\n5,6\n" + strings.Repeat(",", many)
				var bad []string
				o.Columns, o.SplitSize = []string{"a", "b"}, 1<<30
				o.Reject = func(e RowError) error { bad = append(bad, strings.Clone(e.Reason)); return nil }
				in, err := Open(t.Context(), memory("/x.csv", []byte(data)), []string{"/x.csv"}, o)
				testcheck.Must(t, err)
				r, rows, most := in.NewReader(), 0, 0
				testcheck.Must(t, r.Read(t.Context(), 0, func(b *Batch) error { rows, most = rows+b.Rows, max(most, cap(r.fields)); return nil }))
				want := fmt.Sprintf("%d columns found, 2 expected", many+1)
				if right := many == 1; right && (rows != 5 || len(bad) != 0) || !right && (rows != 3 || len(bad) != 2 || bad[0] != want || bad[1] != want) {
					t.Errorf("%s, %d separators: %d rows, bad: %q", o.Format, many, rows, bad)
				}
				if most > 1<<12 {
					t.Errorf("%s, %d separators: %d fields are kept", o.Format, many, most)
				}
			}
		}
	}
}

// TestZstdWindowBeyondTheBudgetIsRefused checks that the error names the file and the required memory, and that the
// window is not allocated.
func TestZstdWindowBeyondTheBudgetIsRefused(t *testing.T) {
	text := toCSV(append([][]string{checkColumns}, checkRows(2000)...)...)
	window := func(size int) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(size), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
		if err != nil {
			t.Fatal(err)
		}
		// In pieces: a frame that is written at once states its size, and needs no larger window.
		for part := range slices.Chunk(text, 100_000) {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	large, small := window(512<<20), window(1<<20)
	skipped := append([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, large...)
	const budget = 32 << 20
	for name, data := range map[string][]byte{"first": large, "skippable": skipped, "second": append(bytes.Clone(small), large...)} {
		var err error
		used := testcheck.Allocated(func() { _, err = loadBytes(t, Options{Memory: budget}, "x.csv.zst", data) })
		me, ok := errors.AsType[*MemoryError](err)
		if !ok || me.Need < 512<<20 && name != "second" || !strings.Contains(err.Error(), "x.csv.zst") || !strings.Contains(err.Error(), "zstd window") {
			t.Errorf("%s: error %v", name, err)
		}
		if used > budget {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
	got, err := loadBytes(t, Options{Memory: budget}, "x.csv.zst", append(bytes.Clone(small), small[:0]...))
	if err != nil || len(got) != 2000 {
		t.Errorf("%d records, %v", len(got), err)
	}
	if got, err = loadBytes(t, Options{Memory: 2 << 30}, "x.csv.zst", large); err != nil || len(got) != 2000 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestReaderMemoryCountsTheWindow checks that the memory of a reader, which jobs plan with, includes the largest
// window.
func TestReaderMemoryCountsTheWindow(t *testing.T) {
	path := writeFile(t, "a.csv.zst", append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3}, 0x21, 0x00, 0x00, 'a', '\n', '1', '\n')) // a window of 16 MiB, one raw block
	in, err := Open(t.Context(), disk, []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m := in.ReaderMemory(); m < 16<<20 {
		t.Errorf("%s: %d bytes", filepath.Base(path), m)
	}
}

// TestManyColumns opens files of 20,000 columns and of 40,000, and checks that twice the columns take twice the work,
// not four times.
func TestManyColumns(t *testing.T) {
	names := make([]string, 40_000)
	for i := range names {
		names[i] = fmt.Sprintf("a_column_with_a_long_name_%06d", i)
	}
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	in := &Input{columns: names}
	file := func(columns []string) *inputFile {
		f := newFile(listing.File{})
		f.columns = columns
		return f
	}
	f := file(reversed)
	if err := in.places(f, true, "the given names"); err != nil || f.order[0] != len(names)-1 {
		t.Fatal(f.order[:1], err)
	}
	if err := in.places(file(append(slices.Clone(reversed[:len(names)-1]), "b")), true, "the given names"); err == nil || !strings.Contains(err.Error(), names[0]) {
		t.Error(err)
	}
	if err := in.places(file(append(slices.Clone(reversed), "b")), true, "the given names"); err == nil || !strings.Contains(err.Error(), `unknown column "b"`) {
		t.Error(err)
	}
}

// TestFilesShareWhatIsEqual checks that files have one copy of what they have in common: a job may have 100,000 of them.
func TestFilesShareWhatIsEqual(t *testing.T) {
	root := t.TempDir()
	for i, text := range []string{"id,b\n1,2\n", "id,b\n3,4\n", "b,id\n5,6\n"} {
		dir := filepath.Join(root, fmt.Sprintf("dt=%d", i/2))
		testcheck.Must(t, os.MkdirAll(dir, 0o700))
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600))
	}
	in, err := Open(t.Context(), disk, []string{root}, Options{Columns: []string{"id", "dt"}, Extra: ExtraIgnore})
	testcheck.Must(t, err)
	a, b, c := in.files[0], in.files[1], in.files[2]
	if a.facts != b.facts || b.facts != c.facts || a.form != b.form || &a.columns[0] != &b.columns[0] || &a.ignored[0] != &b.ignored[0] || &a.order[0] != &b.order[0] || &a.Partitions[0] != &b.Partitions[0] {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	if b.form == c.form || &b.columns[0] == &c.columns[0] || &b.order[0] == &c.order[0] || &b.Partitions[0] == &c.Partitions[0] || &b.ignored[0] != &c.ignored[0] {
		t.Errorf("what differs is shared: %+v\n%+v", b, c)
	}
}
