package source

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/splits"
)

// fixedWidth is a format that is not part of the program: lines whose columns begin at fixed positions. It shows how to add a format.
type fixedWidth struct{}

// fixedColumns are the columns with their ends.
var fixedColumns = map[string]int{"id": 4, "name": 10, "city": 16}

func (fixedWidth) facts() facts {
	return facts{endings: []string{".fix"}}
}

func (fixedWidth) check(o *Options) error { return o.noDialect("has no dialects") }

func (k fixedWidth) probe(_ context.Context, f *inputFile, _ []byte, _ *Options) (content, error) {
	f.columns = []string{"id", "name", "city"}
	return k.text(f), nil
}

func (fixedWidth) reader(r *Reader) splitReader             { return &widthReader{recordReader{r}} }
func (fixedWidth) text(f *inputFile) textForm               { return widthText{textFile{f}} }
func (fixedWidth) marks(*inputFile, Sep, Sep) rejects.Marks { return rejects.Marks{End: "\n"} }

type widthText struct{ textFile }

func (t widthText) rejectForm(*Options) *rejects.Form {
	return &rejects.Form{Version: 1, Format: "fixed", Columns: t.f.columns}
}

func (t widthText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	places, err := splits.Lines(ctx, t.f.toCut(o), o.MaxRecord, lineStart)
	return cutAt(add, places, err)
}

type widthReader struct{ recordReader }

func (t *widthReader) trimEnd(record []byte) []byte { return bytes.TrimSuffix(record, []byte{'\n'}) }

func (t *widthReader) parse(n, _ int, last bool) (int, error) {
	r, start, k := t.r, 0, 0
	r.extra = n
	for start < n {
		end := bytes.IndexByte(r.buf[start:n], '\n')
		if end < 0 && !last {
			break
		}
		if end < 0 {
			end = n - start
		}
		next := min(start+end+1, n)
		if end != fixedColumns["city"] {
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			if err := r.reject(start, next, "", fmt.Sprintf("it has %d bytes", end)); err != nil {
				return start, err
			}
			k = 0
		} else {
			r.growRow(k, r.file.cols)
			from := 0
			for _, name := range r.file.columns {
				to := fixedColumns[name]
				value := bytes.TrimRight(r.buf[start+from:start+to], " ")
				r.fields[k] = Span{Off: uint32(start + from), Len: uint32(len(value))}
				k, from = k+1, to
			}
			r.offsets = append(r.offsets, r.off+int64(start))
		}
		start = next
	}
	return start, r.flush(k, start)
}

// TestFurtherFormat reads files of a format that needs only one file and one line of the registry: in splits, compressed, together with CSV and with
// another order of columns, with bad records that are read again from the reject file, and with checksums.
func TestFurtherFormat(t *testing.T) {
	var text strings.Builder
	var want [][]string
	for i := range 500 {
		if i%100 == 7 {
			fmt.Fprintf(&text, "%04d short\n", i)
			continue
		}
		fmt.Fprintf(&text, "%04d%-6s%-6s\n", i, fmt.Sprint("n", i), "Łódź")
		want = append(want, []string{"Łó", fmt.Sprintf("%04d", i), fmt.Sprint("n", i)})
	}
	fixed := strings.ReplaceAll(text.String(), "Łódź  ", "Łó  ") // six bytes
	dir := t.TempDir()
	rejects := NewRejectFile(filepath.Join(dir, "bad.jsonl"))
	o := Options{SplitSize: 1000, ChunkSize: 100, Columns: []string{"city", "id", "name"}, Reject: rejects.Write, more: []registered{{"fixed", fixedWidth{}}}}
	path := writeFile(t, "x.fix", []byte(fixed))
	in, err := Open(t.Context(), disk, []string{path, writeFile(t, "y.csv", []byte("id,name,city\n1,a,b\n"))}, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t.Context(), in)
	if err != nil || len(in.Splits()) < 8 || !reflect.DeepEqual(values(got), append(want, []string{"b", "1", "a"})) {
		t.Fatalf("%d splits, %d records, %v", len(in.Splits()), len(got), err)
	}
	if f := in.Files(); f[0].Format != "fixed" || f[1].Format != FormatCSV || in.Records() != 501 {
		t.Errorf("%+v, %d records", f, in.Records())
	}
	again, err := Open(t.Context(), disk, []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Splits = again.Splits()
	if _, err := Open(t.Context(), disk, []string{path}, o); err != nil {
		t.Error(err)
	}
	if _, err := readAll(t.Context(), again); err == nil {
		for i := range again.Splits() {
			a, _ := in.Sum(i)
			if b, ok := again.Sum(i); !ok || a != b || a == 0 {
				t.Errorf("split %d: checksums %x and %x", i, a, b)
			}
		}
	}
	t.Run("rejects", func(t *testing.T) { readFixedRejects(t, rejects) })
}

// readFixedRejects reads bad records again, and checks that they are still bad.
func readFixedRejects(t *testing.T, f *RejectFile) {
	if n, err := f.Finish(); err != nil || n != 10 {
		t.Fatalf("%d rejects, %v", n, err)
	}
	var bad []string
	o := Options{Format: FormatRejects, more: []registered{{"fixed", fixedWidth{}}}, Reject: func(e RowError) error { bad = append(bad, string(e.Raw)); return nil }}
	in, err := Open(t.Context(), disk, []string{f.Path()}, o)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := readAll(t.Context(), in); err != nil || len(rows) != 0 || len(bad) != 10 || bad[0] != "0007 short" {
		t.Errorf("%d rows, %q, %v", len(rows), bad, err)
	}
}
