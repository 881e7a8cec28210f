package listing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGlobsAsBash compares matched files with those of bash with globstar, on a tree without hidden names where no pattern matches a directory.
func TestGlobsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	const data = "a\n1\n"
	dir := tree(t, map[string]string{"2017/01/a.csv": data, "2017/02/b.csv": data, "2018/01/a.csv": data, "2018/x.csv": data, "y.csv": data, "a,b/c.csv": data, "{a}/d.csv": data,
		"w*/e.csv": data, "2017/01/deep/er/a.csv": data, "2017/01/z.txt": data, "q{/f.csv": data})
	for _, pattern := range []string{"{2017,2018}/01/*.csv", "201[78]/*/a.csv", "**/a.csv", "**/*.csv", "2017/**/a.csv", "{2017/{01,02},2018}/*.csv", "**/0?/**/*.csv", "**/**/x.csv",
		"{**/a,y}.csv", "{a}/*.csv", `a\,b/*.csv`, `{a\,b,nothing}/*.csv`, `w\*/*.csv`, `w\*/e.csv`, "q{/*.csv", "{,}y.csv", "{y,y}.csv", "{2017,none}/01/*.csv", "2017/0{1,2}/?.csv", "*/{a,b,c}.csv", `\{a\}/d.csv`, "2017/01/{a,z}.{csv,txt}"} {
		cmd := exec.CommandContext(t.Context(), bash, "-O", "globstar", "-O", "nullglob", "-c", "for f in "+pattern+`; do test -f "$f" && printf '%s\n' "$f"; done | LC_ALL=C sort -u`)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(string(out))
		files, _, err := List(t.Context(), disk, []string{dir + "/" + pattern}, &Options{})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var got []string
		for _, f := range files {
			name, _ := filepath.Rel(dir, f.Name)
			got = append(got, name)
		}
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, bash has %q", pattern, got, want)
		}
	}
	for pattern, say := range map[string]string{"{a,b": "no such file", "{x,y}/z": "no file matches", "**/none": "no file matches", "a[": "pattern", strings.Repeat("{a,b}", 14): "more than 10000",
		strings.Repeat("{a,", 200) + strings.Repeat("}", 200): "nested"} {
		_, _, err := List(t.Context(), disk, []string{dir + "/" + pattern}, &Options{})
		wantError(t, pattern, err, say)
	}
}

// TestAlternatives compares alternatives with those of bash.
func TestAlternatives(t *testing.T) {
	for pattern, want := range map[string]string{"a": "a", "{a,b}": "a b", "x{a,{b,c}d}y": "xay xbdy xcdy", "{a}": "{a}", "{a,b": "{a,b", "a}": "a}", "{{a,b}}": "{a} {b}", "{a,b}{c,d}": "ac ad bc bd",
		`\{a,b}`: `\{a,b}`, `{a\,b,c}`: `a\,b c`, "a,b": "a,b", "{,x}": " x", "{a,{b}": "{a,{b}"} {
		got, err := alternatives(pattern)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}

// TestPatternsFollowLinks checks that each kind of pattern finds the files below a directory that is a link, as the directory itself does, and refuses
// a link to a directory above it and one that leads nowhere.
func TestPatternsFollowLinks(t *testing.T) {
	dir := tree(t, map[string]string{"data/2025/a.csv": "a\n1\n", "disk2/2026/q1/b.csv": "a\n2\n"})
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("disk2/2026", "data/2026")
	for _, input := range []string{"data", "data/**", "data/*/**", "data/**/*.csv", "data/**/2026/**/*.csv", "data/{2025/*,*/q1/*}"} {
		files, _, err := List(t.Context(), disk, []string{dir + "/" + input}, &Options{})
		if want := 2 - strings.Count(input, "2026"); err != nil || len(files) != want {
			t.Errorf("%s: %d files of %d, %v", input, len(files), want, err)
		}
	}
	link("data", "disk2/2026/back")
	wantRefused(t, "a loop", openError(t, Options{}, dir, "data/**/*.csv"), "data/2026/back is a link to")
	link("nowhere", "data/2025/lost")
	for _, input := range []string{"data/**/*.csv", "data/{2025,2026}/**/*.csv"} {
		wantError(t, "a link to nowhere", openError(t, Options{}, dir, input), "data/2025/lost", "no such file")
	}
}

// TestOneFileTwiceIsRefused checks that a file that is listed twice is an error with both names: by links, other spellings, and overlapping inputs. A
// single pattern may match a file in several ways.
func TestOneFileTwiceIsRefused(t *testing.T) {
	const data = "a\n1\n"
	dir := tree(t, map[string]string{"in/a.csv": data, "in/b.csv": data, "hard/x.csv": data})
	for _, err := range []error{os.Symlink(filepath.Join(dir, "in/a.csv"), filepath.Join(dir, "soft.csv")), os.Symlink("in", filepath.Join(dir, "softdir")), os.Symlink("soft.csv", filepath.Join(dir, "chain.csv")),
		os.Link(filepath.Join(dir, "in/b.csv"), filepath.Join(dir, "hard/b.csv"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ inputs, say []string }{
		{[]string{"in", "in/a.csv"}, []string{"in/a.csv is there twice"}},
		{[]string{"in", "in/../in/a.csv"}, []string{"in/a.csv"}},
		{[]string{"in/*", "i?/a.csv"}, []string{"in/a.csv is there twice"}},
		{[]string{"in", "soft.csv"}, []string{"soft.csv", "in/a.csv", "one file"}},
		{[]string{"in", "hard"}, []string{"hard/b.csv", "in/b.csv", "one file"}},
		{[]string{"in/a.csv", "./in//a.csv"}, []string{"in/a.csv is there twice"}},
		{[]string{"in/a.csv", "in/./a.csv"}, []string{"in/a.csv is there twice"}},
		{[]string{"in/b.csv", "softdir/b.csv"}, []string{"softdir/b.csv", "in/b.csv", "one file"}},
		{[]string{"in/b.csv", "softdir"}, []string{"softdir/b.csv", "in/b.csv", "one file"}},
		{[]string{"soft.csv", "chain.csv"}, []string{"soft.csv", "chain.csv", "one file"}},
		{[]string{"hard/{b,x}.csv", "in/[b]*"}, []string{"hard/b.csv", "in/b.csv", "one file"}},
	} {
		wantError(t, c.inputs[1], openError(t, Options{}, dir, c.inputs...), c.say...)
	}
	for _, input := range []string{"{in,in}", "in/{a*,*.csv}", "in/**/{a,*}.csv"} {
		if files, _, err := List(t.Context(), disk, []string{dir + "/" + input}, &Options{}); err != nil || len(files) != 2 {
			t.Errorf("%s: %v", input, err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "in", "loop")); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "a loop", openError(t, Options{}, dir, "in"), "in/loop is a link to")
}

// numbered is a file of a file system with file ids and without devices, like HDFS.
type numbered struct {
	FS
	fs.FileInfo
	size int64
	id   uint64
	at   time.Time
}

func (f *numbered) FileID() (uint64, bool)                            { return f.id, true }
func (f *numbered) Size() int64                                       { return f.size }
func (f *numbered) Mode() fs.FileMode                                 { return 0o644 }
func (f *numbered) IsDir() bool                                       { return false }
func (f *numbered) ModTime() time.Time                                { return f.at }
func (f *numbered) Stat(context.Context, string) (fs.FileInfo, error) { return f, nil }
func (f *numbered) ReadDir(context.Context, string) ([]fs.FileInfo, error) {
	return nil, fs.ErrInvalid
}

// TestOneFileOfTwoClients checks that a file of HDFS is found twice if two addresses, and therefore two clients, lead to its cluster.
func TestOneFileOfTwoClients(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	clients := map[string]*numbered{
		"hdfs://ns/x":    {size: 4, id: 16_500, at: at},
		"hdfs://nn1/x":   {size: 4, id: 16_500, at: at},
		"hdfs://other/x": {size: 4, id: 16_500, at: at.Add(time.Millisecond)},
		"hdfs://third/x": {size: 5, id: 16_500, at: at},
	}
	resolve := func(name string) (FS, string, error) { return clients[name], "/x", nil }
	_, _, err := List(t.Context(), resolve, []string{"hdfs://ns/x", "hdfs://nn1/x"}, &Options{})
	wantError(t, "two addresses", err, "hdfs://nn1/x", "hdfs://ns/x", "one file")
	_, _, err = List(t.Context(), resolve, []string{"hdfs://ns/x", "hdfs://ns/x"}, &Options{})
	wantError(t, "one address", err, "hdfs://ns/x is there twice")
	if files, _, err := List(t.Context(), resolve, []string{"hdfs://ns/x", "hdfs://other/x", "hdfs://third/x"}, &Options{}); err != nil || len(files) != 3 {
		t.Errorf("files of three clusters: %v", err)
	}
}

// TestInputsFrom reads lists in the forms of editors and shells.
func TestInputsFrom(t *testing.T) {
	name := writeFile(t, "list", []byte("\ufeff# exports of the day\r\n\r\n  /a/b.csv \r\nhdfs://nn/x/{a,b}/*.csv\n#x\n./#y\nt/dt=1"))
	got, err := InputsFrom(t.Context(), disk, name)
	if want := []string{"/a/b.csv", "hdfs://nn/x/{a,b}/*.csv", "./#y", "t/dt=1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for data, say := range map[string]string{"": "no inputs", "# x\n\n": "no inputs", "a\nb\x00c\n": "line 2", "a\n\n" + strings.Repeat("x", longestInput+1): "line 3"} {
		_, err := InputsFrom(t.Context(), disk, writeFile(t, "list", []byte(data)))
		wantError(t, "list", err, say, "/list")
	}
	if _, err := InputsFrom(t.Context(), disk, name+".gone"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	wantError(t, "a directory", func() error { _, err := InputsFrom(t.Context(), disk, path.Dir(name)); return err }(), "is a directory")
}

// FuzzGlob expands any text, and checks the limits of the number and the length of patterns.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"{a,b}", "x{a,{b,c}d}y", "{{a}", `\{a,b}`, "**/{a,**}/[x]", "{,,,}{,,,}{,,,}"} {
		f.Add(s)
	}
	dir := plainTree(f)
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 200 || strings.Contains(pattern, "..") || strings.ContainsRune(pattern, 0) {
			return
		}
		list, err := alternatives(pattern)
		if err != nil {
			return
		}
		if len(list) == 0 || len(list) > maxAlternatives {
			t.Errorf("%d patterns", len(list))
		}
		for _, p := range list {
			if len(p) > len(pattern) {
				t.Errorf("%q of %q", p, pattern)
			}
		}
		if len(list) < 50 && !strings.ContainsAny(pattern, "\n") {
			_, _, _ = List(t.Context(), disk, []string{dir + "/" + pattern}, &Options{AllowEmpty: true})
		}
	})
}

// plainTree returns a small tree for fuzzing.
func plainTree(f *testing.F) string {
	f.Helper()
	dir := f.TempDir()
	for _, name := range []string{"a/b/c.csv", "a/x.csv", "b/dt=1/y.csv"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a\n1\n"), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	return dir
}

// remoteFS has one file, whose reads end with their context.
type remoteFS struct {
	FS
	file *remoteFile
}

// remoteFile is closed by mistake if it is closed during a read.
type remoteFile struct {
	fs.File
	ctx     context.Context
	reading bool
	cut     bool
}

func (f *remoteFS) Open(ctx context.Context, _ string) (fs.File, error) {
	f.file.ctx = ctx
	return f.file, nil
}

func (f *remoteFS) Stat(context.Context, string) (fs.FileInfo, error) {
	return os.Stat("globs_test.go")
}

func (f *remoteFile) Read([]byte) (int, error) {
	f.reading = true
	<-f.ctx.Done()
	synctest.Wait()
	f.reading = false
	return 0, context.Cause(f.ctx)
}

func (f *remoteFile) Close() error {
	f.cut = f.cut || f.reading
	return nil
}

// TestStopWhileInputsFromIsRead checks that a stop does not close a file of a remote file system while it is read: its reads end with their context.
func TestStopWhileInputsFromIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &remoteFile{}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		go cancel(stopped)
		_, err := InputsFrom(ctx, func(name string) (FS, string, error) { return &remoteFS{file: f}, name, nil }, "list")
		if !errors.Is(err, stopped) || f.cut {
			t.Errorf("%v, closed while it is read: %v", err, f.cut)
		}
	})
}
