package stores

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/objectstore"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/source"
)

// local resolves paths of this machine.
func local(name string) (source.FS, string, error) { return hdfsio.Local{}, name, nil }

// resolver finds buckets at endpoints.
func resolver(t *testing.T, endpoints ...string) source.Resolve {
	s := &objectstore.Stores{Endpoints: endpoints, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(s.Close)
	return func(name string) (source.FS, string, error) {
		store, p, err := s.Open(name)
		if err != nil {
			return nil, "", err
		}
		return store, p, nil
	}
}

// read returns everything that a job gets from an input: files, splits, rows, and entries that are left out. Paths
// are relative to a root.
func read(ctx context.Context, resolve source.Resolve, root string, inputs []string, o source.Options) (lines []string, err error) {
	for i := range inputs {
		inputs[i] = root + inputs[i]
	}
	in, err := source.Open(ctx, resolve, inputs, o)
	if err != nil {
		return nil, err
	}
	below := func(path string) string { return strings.TrimPrefix(path, root) }
	for _, f := range in.Files() {
		lines = append(lines, fmt.Sprintf("file %q %d %s %s %v", below(f.Path), f.Size, f.Format, f.Compression, f.Partitions))
	}
	for _, l := range in.LeftOut() {
		lines = append(lines, fmt.Sprintf("left %q %d %q", l.Kind, l.Count, below(l.First)))
	}
	r := in.NewReader()
	for i, s := range in.Splits() {
		lines = append(lines, fmt.Sprintf("split %q %d %d", below(s.Path), s.Start, s.End))
		err := r.Read(ctx, i, func(b *source.Batch) error {
			for row := range b.Rows {
				var values []string
				for col := range b.Cols {
					values = append(values, string(b.Fields[row*b.Cols+col].Of(b.Data)))
				}
				lines = append(lines, fmt.Sprintf("%d %q", b.Offsets[row], values))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return lines, in.Recheck(ctx)
}

// names are elements of keys: names by users, Hive and Windows.
var names = []string{"a", "b b", "ü", "日本", "50%", "a+b", "#1", "%41", "x=y&z", "it's", "q?", "A", "-", "~", "dot.", "c;d", "e,f"}

// tree writes random files below a directory, and returns their keys.
func tree(t *testing.T, r *rand.Rand, dir string, files int) (keys []string) {
	for i := range files {
		var elements []string
		for range r.IntN(3) {
			elements = append(elements, names[r.IntN(len(names))])
		}
		if r.IntN(3) == 0 {
			elements = append(elements, fmt.Sprintf("dt=2026-11-%02d", 1+r.IntN(3)))
		}
		name := fmt.Sprintf("%s-%d.csv", names[r.IntN(len(names))], i)
		var text strings.Builder
		switch r.IntN(12) {
		case 0:
			name = []string{"_SUCCESS", ".part.crc", "_metadata", ".hidden"}[r.IntN(4)]
			text.WriteString("x")
		case 1: // empty
		default:
			text.WriteString("id,v\n")
			for row := range r.IntN(400) {
				fmt.Fprintf(&text, "%d,%x\n", row, r.Uint64N(1<<r.IntN(63)))
			}
		}
		key := strings.Join(append(elements, name), "/")
		file := filepath.Join(dir, filepath.FromSlash(key))
		testcheck.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testcheck.Must(t, os.WriteFile(file, []byte(text.String()), 0o644))
		keys = append(keys, key)
	}
	return keys
}

// inputsOf draws inputs that match files of a tree.
func inputsOf(r *rand.Rand, keys []string) []string {
	escape := strings.NewReplacer("?", `\?`, "[", `\[`, "{", `\{`, "*", `\*`)
	key := keys[r.IntN(len(keys))]
	elements := strings.Split(key, "/")
	switch r.IntN(6) {
	case 0:
		return []string{"/**"}
	case 1:
		return []string{path.Join("/", escape.Replace(strings.Join(elements[:len(elements)-1], "/")), "*.csv")}
	case 2:
		return []string{"/*/dt=2026-11-0[12]/*", "/*-1.csv"}
	case 3:
		return []string{"/" + strings.Join(elements[:1+r.IntN(len(elements))], "/")}
	case 4:
		return []string{"/{a,A,b b}*/**"}
	}
	return []string{"/" + elements[0]}
}

// TestRandomTrees reads the same files from a bucket and from local disk: the files, splits, rows and errors must be the same, with and
// without faults.
func TestRandomTrees(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	r := testcheck.Rand(t)
	for range race.Cases(t, 12) {
		dir := t.TempDir()
		keys := tree(t, r, dir, 1+r.IntN(60))
		s := &S3{Bucket: "b", Page: 1 + r.IntN(20)}
		testcheck.Must(t, s.Serve(dir))
		harm := Harm{}
		if r.IntN(2) == 0 {
			harm = Harm{Busy: 0.05, Reset: 0.03, Short: 0.03, Slow: 0.02}
		}
		server := httptest.NewServer(NewProxy(s, rand.New(rand.NewPCG(r.Uint64(), 1)), harm))
		resolve := resolver(t, "s3="+server.URL+"?credentials=none")
		for range 6 {
			inputs := inputsOf(r, keys)
			o := source.Options{SplitSize: 1 + r.Int64N(4000), AllowEmpty: true, Extra: source.ExtraIgnore, Missing: source.MissingNull}
			want, wantErr := read(t.Context(), local, dir, slices.Clone(inputs), o)
			got, err := read(t.Context(), resolve, "s3://b", slices.Clone(inputs), o)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%q: %v, local %v", inputs, err, wantErr)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %s", inputs, firstDifference(got, want))
			}
		}
		server.Close()
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("line %d: %s, want %s", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(got), len(want))
}

// TestManyKeys lists a directory with more keys than a page.
func TestManyKeys(t *testing.T) {
	dir := t.TempDir()
	for i := range 2500 {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("k%04d.csv", i)), fmt.Appendf(nil, "id\n%d\n", i), 0o644))
	}
	s := &S3{Bucket: "b"}
	testcheck.Must(t, s.Serve(dir))
	server := httptest.NewServer(s)
	defer server.Close()
	fsys, name, err := resolver(t, "s3="+server.URL+"?credentials=none")("s3://b")
	testcheck.Must(t, err)
	list, err := fsys.ReadDir(t.Context(), name)
	if err != nil || len(list) != 2500 || s.lists != 3 {
		t.Fatalf("%d entries by %d lists, %v", len(list), s.lists, err)
	}
	for i, e := range list {
		if want := fmt.Sprintf("k%04d.csv", i); e.Name() != want || e.IsDir() {
			t.Fatalf("entry %d is %s, want %s", i, e.Name(), want)
		}
	}
}

// TestDirectories finds the directories of a bucket, one job for each; their names must resolve to them again.
func TestDirectories(t *testing.T) {
	s := &S3{Bucket: "b"}
	for _, key := range []string{"x/1.csv", "x/2.csv", "y/z/3.csv"} {
		s.Put(key, []byte("id\n1\n"), time.Unix(1e9, 0))
	}
	s.Put("w/", nil, time.Unix(1e9, 0)) // stands for a directory
	server := httptest.NewServer(s)
	defer server.Close()
	resolve := resolver(t, "s3="+server.URL+"?credentials=none")
	for _, input := range []string{"s3://b", "s3://b/", "s3://b/*"} {
		dirs, err := source.Directories(t.Context(), resolve, []string{input}, source.Options{})
		var got []string
		for _, d := range dirs {
			got = append(got, fmt.Sprint(d.Path, " ", len(d.Files)))
		}
		if want := []string{"s3://b/x 2", "s3://b/y/z 1"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", input, got, err, want)
		}
	}
}
