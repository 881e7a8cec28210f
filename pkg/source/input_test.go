package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bulkload/internal/test/testcheck"
)

// tree writes files and returns their directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInputs(t *testing.T) {
	const data = "a\n1\n"
	dir := tree(t, map[string]string{
		"day/2017/b.csv": data, "day/2017/a.csv": data, "day/2018/c.csv": data, "day/d.csv": data,
		"day/_SUCCESS": "", "day/_temporary/0/x.csv": data, "day/.hidden.csv": data, "day/empty.csv": "", "day/2017/_metadata": data,
		"odd/[x].csv": data, "none/_SUCCESS": "",
	})
	for _, tt := range []struct {
		inputs []string
		want   []string
		err    string
	}{
		{inputs: []string{"day"}, want: []string{"day/2017/a.csv", "day/2017/b.csv", "day/2018/c.csv", "day/d.csv"}},
		{inputs: []string{"day/"}, want: []string{"day/2017/a.csv", "day/2017/b.csv", "day/2018/c.csv", "day/d.csv"}},
		{inputs: []string{"day/d.csv", "day/2017"}, want: []string{"day/d.csv", "day/2017/a.csv", "day/2017/b.csv"}},
		{inputs: []string{"day/*/[ac].csv"}, want: []string{"day/2017/a.csv", "day/2018/c.csv"}},
		{inputs: []string{"day/201?"}, want: []string{"day/2017/a.csv", "day/2017/b.csv", "day/2018/c.csv"}},
		{inputs: []string{"day/*.csv"}, want: []string{"day/d.csv"}},
		{inputs: []string{"da*/_temp*/0/*"}, want: []string{"day/_temporary/0/x.csv"}},
		{inputs: []string{"day/_temporary/0/x.csv", "day/.hidden.csv", "day/empty.csv"}, want: []string{"day/_temporary/0/x.csv", "day/.hidden.csv", "day/empty.csv"}},
		{inputs: []string{"odd/[x].csv"}, want: []string{"odd/[x].csv"}},
		{inputs: []string{"none"}},
		{inputs: []string{"day/x.csv"}, err: "day/x.csv"},
		{inputs: []string{"day/*.tsv"}, err: "no file matches the pattern"},
		{inputs: []string{"day/*/*/*"}, err: "no file matches the pattern"},
		{inputs: []string{"day/[a"}, err: "syntax error in pattern"},
		{inputs: []string{"day", "day/d.csv"}, err: "d.csv is there twice"},
		{inputs: nil, err: "no input"},
	} {
		var inputs, want []string
		for _, in := range tt.inputs {
			inputs = append(inputs, dir+"/"+in)
		}
		for _, w := range tt.want {
			want = append(want, dir+"/"+w)
		}
		in, err := Open(t.Context(), disk, inputs, Options{AllowEmpty: true})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.inputs, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.inputs, err)
			continue
		}
		var got []string
		for _, f := range in.Files() {
			got = append(got, f.Path)
			if f.Name != f.Path || f.ModTime.IsZero() || f.Format != FormatCSV {
				t.Errorf("file %+v", f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: files %q, want %q", tt.inputs, got, want)
		}
	}
	_, err := Open(t.Context(), disk, []string{dir + "/day/no*"}, Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

// TestShownPaths checks that a path in a message has the form of the input.
func TestShownPaths(t *testing.T) {
	dir := tree(t, map[string]string{"in/a.csv": "a\n"})
	t.Chdir(dir)
	remote := func(p string) (FS, string, error) {
		p = strings.TrimPrefix(p, "hdfs://nn:8020")
		return testcheck.Disk{}, p, nil
	}
	for input, want := range map[string]string{"in": "in/a.csv", "./in/*": "in/a.csv", dir + "/in": dir + "/in/a.csv", "../" + filepath.Base(dir) + "/in": dir + "/in/a.csv"} {
		in, err := Open(t.Context(), disk, []string{input}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Files()[0].Path; got != want {
			t.Errorf("input %s: path %s, want %s", input, got, want)
		}
	}
	in, err := Open(t.Context(), remote, []string{"hdfs://nn:8020" + dir + "/in/*"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := in.Files()[0].Path, "hdfs://nn:8020"+dir+"/in/a.csv"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}

func TestDetection(t *testing.T) {
	parquet, err := os.ReadFile(filepath.Join(parquetDir, "arrow-empty.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, data string
		want       Format
		packed     string
	}{
		{"x.csv", "id,s\n\x01", FormatCSV, ""},
		{"x.CSV.GZ", string(pack(t, "gz", []byte("id,s\n"))), FormatCSV, "gz"},
		{"x.csv", string(pack(t, "gz", []byte("id,s\n"))), FormatCSV, "gz"},
		{"x", string(pack(t, "zst", []byte("1\x012\x10"))), FormatDump, "zst"},
		{"x.dump", "1\x012\x10", FormatDump, ""},
		{"part-00000", "1\x01" + strings.Repeat("x", 2*detectSize) + "\x10", FormatDump, ""},
		{"x.txt", "id,s\n", FormatCSV, ""},
		{"x.txt", string(parquet), FormatParquet, ""},
		{"part-0000.snappy.parquet", string(parquet), FormatParquet, ""},
	} {
		in, err := Open(t.Context(), disk, []string{writeFile(t, tt.name, []byte(tt.data))}, Options{Columns: []string{"id", "s"}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if f := in.Files()[0]; f.Format != tt.want || f.Compression != tt.packed {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
	for _, name := range []string{"x.csv.br", "x.tar.gz", "x.rc"} {
		if _, err := Open(t.Context(), disk, []string{writeFile(t, name, []byte("x"))}, Options{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMixedFiles reads files of all formats with columns in different orders.
func TestMixedFiles(t *testing.T) {
	dir := tree(t, map[string]string{"1.csv": "b,a\n2,1\n", "2.csv": "a,b\n3,4\n", "3.dump": "5\x016\x10", "4.csv": ""})
	writeParquet(t, filepath.Join(dir, "5.parquet"), []string{"b", "a"}, [][]string{{"8", "7"}, {"", "9"}}, 1)
	got, err := load(t, Options{Columns: []string{"a", "b"}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"1", "2"}, {"3", "4"}, {"5", "6"}, {"7", "8"}, {"9", ""}}, values(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, other := range []string{"a,c\n", "a\n", "a,b,c\n"} {
		dir := tree(t, map[string]string{"1.csv": "b,a\n2,1\n", "2.csv": other})
		if _, err := load(t, Options{}, dir); err == nil || !strings.Contains(err.Error(), "2.csv") || !strings.Contains(err.Error(), "1.csv") {
			t.Errorf("header %q: error %v", other, err)
		}
	}
}

// TestRejects checks that bad records have their number in the file, in whichever split they are, and that good records
// are read.
func TestRejects(t *testing.T) {
	var data strings.Builder
	var want []string
	for i := range 1000 {
		if i%97 == 5 {
			data.WriteString("bad\n")
		} else {
			data.WriteString("\"x\ny\",2\n")
			want = append(want, "x\ny")
		}
	}
	var mu sync.Mutex
	var numbers []int64
	o := Options{Header: HeaderNone, Columns: []string{"a", "b"}, SplitSize: 100, ChunkSize: 64, Reject: func(e RowError) error {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, e.Record)
		if string(e.Raw) != "bad" || e.Since != 0 {
			t.Errorf("%+v", e)
		}
		return nil
	}}
	in, err := Open(t.Context(), func(name string) (FS, string, error) { return &memFile{name, []byte(data.String())}, name, nil }, []string{"/x.csv"}, o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make([][]string, len(in.Splits()))
	for w := range 4 {
		wg.Go(func() {
			r := in.NewReader()
			for i := w; i < len(results); i += 4 {
				if err := r.Read(t.Context(), i, func(b *Batch) error {
					for row := range b.Rows {
						results[i] = append(results[i], string(b.Field(row, 0)))
						if e := b.RowError(row); string(e.Raw) != "\"x\ny\",2" || e.Record < 1 {
							t.Errorf("%+v", e)
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := slices.Concat(results...); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i*97+6) {
			t.Fatalf("numbers %d", numbers)
		}
	}
	if in.Records() != 1000 {
		t.Errorf("%d records", in.Records())
	}
}

func TestEmitErrorAndCancel(t *testing.T) {
	in, err := Open(t.Context(), disk, []string{writeFile(t, "x.csv", []byte("a\n1\n2\n"))}, Options{ChunkSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := in.NewReader().Read(t.Context(), 0, func(*Batch) error { return stop }); err != stop {
		t.Errorf("error %v, want it as it is", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = in.NewReader().Read(ctx, 0, func(*Batch) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := in.NewReader().Read(t.Context(), 7, nil); fmt.Sprint(err) != fmt.Sprintf("split 7 does not exist: the input has %d", len(in.Splits())) {
		t.Errorf("a split that is not there: %v", err)
	}
}

// TestChangedFile checks that a file that is truncated or changed after it was listed is an error, not a shorter input.
func TestChangedFile(t *testing.T) {
	m := &memFile{"/x.csv", []byte("a,b\n1,2\n3,4\n5,6\n7,8\n")}
	resolve := func(name string) (FS, string, error) { return m, name, nil }
	in, err := Open(t.Context(), resolve, []string{"/x.csv"}, Options{SplitSize: 6})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(in.Splits()); n != 3 {
		t.Fatalf("cut into %d splits", n)
	}
	m.data = []byte("a,b\n1,2\n3,4\n\"5\n\",6\n7,8")
	_, err = readAll(t.Context(), in)
	if e, ok := errors.AsType[*ChangedError](err); !ok || e.Path != "/x.csv" {
		t.Errorf("a file that was written again: %v", err)
	}
	m.data = m.data[:9]
	_, err = readAll(t.Context(), in)
	if e, ok := errors.AsType[*RowError](err); !ok || e.Path != "/x.csv" || e.Record != 2 || e.Offset != 8 {
		t.Errorf("a file that was cut within a record: %v", err)
	}
}

// TestRecheckSaysWhatChanged checks the error for a changed file in a directory, also if the directory's listing now
// leaves the file out.
func TestRecheckSaysWhatChanged(t *testing.T) {
	for what, tt := range map[string]struct {
		change func(name string) error
		want   string
	}{
		"emptied": {func(name string) error { return os.Truncate(name, 0) }, "size 8 bytes, now 0"},
		"removed": {os.Remove, "it is gone"},
		"another": {func(name string) error { return os.WriteFile(name+"2", []byte("a,b\n1,2\n"), 0o600) }, "it is new"},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "x.csv")
		if err := os.WriteFile(name, []byte("a,b\n1,2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := Open(t.Context(), disk, []string{dir}, Options{})
		if err == nil {
			err = tt.change(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := errors.AsType[*ChangedError](in.Recheck(t.Context())); !ok || !strings.Contains(e.What, tt.want) {
			t.Errorf("%s: %v", what, e)
		}
	}
}

func TestSplitsAreStable(t *testing.T) {
	data := toCSV(append([][]string{checkColumns}, checkRows(500)...)...)
	path := writeFile(t, "x.csv", data)
	in, err := Open(t.Context(), disk, []string{path}, Options{SplitSize: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	splits := in.Splits()
	for i, s := range splits {
		if i > 0 && s.Start != splits[i-1].End {
			t.Errorf("split %d begins at %d, the one before ends at %d", i, s.Start, splits[i-1].End)
		}
	}
	if n := len(splits); n < 5 || splits[n-1].End != int64(len(data)) {
		t.Errorf("splits %+v", splits)
	}
	in, err = Open(t.Context(), disk, []string{writeFile(t, "x.csv.gz", pack(t, "gz", data))}, Options{SplitSize: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if s := in.Splits(); len(s) != 1 || s[0].End != math.MaxInt64 {
		t.Errorf("splits %+v", s)
	}
}
