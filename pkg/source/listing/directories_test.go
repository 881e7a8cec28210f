package listing

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/test/testcheck"
)

// dumpTree creates files in a new directory and returns its path.
func dumpTree(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	plant(t, root, files...)
	return root
}

func plant(t rapidOrTest, root string, files ...string) {
	for _, f := range files {
		name := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		content := "x"
		if strings.HasSuffix(f, "_SUCCESS") {
			content = ""
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

type rapidOrTest interface{ Fatal(...any) }

func TestDirectories(t *testing.T) {
	elsewhere := dumpTree(t, "part-0")
	root := dumpTree(t, "2017/10/12/part-0", "2017/10/12/part-1", "2017/10/12/_SUCCESS", "2017/10/9/part-0", "2016/x/part-0",
		"2016/x/_temporary/0/part-7", "2016/empty/_SUCCESS", "2018/part-0")
	if err := os.Symlink(elsewhere, filepath.Join(root, "2015")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for _, c := range []struct {
		what   string
		inputs []string
		want   []string // path: files
	}{
		{"a tree", []string{root + "/2017"}, []string{root + "/2017/10/12: part-0 part-1", root + "/2017/10/9: part-0"}},
		{"a slash at the end, a link to a directory", []string{root + "/"}, []string{root + "/2015: part-0", root + "/2016/x: part-0", root + "/2017/10/12: part-0 part-1",
			root + "/2017/10/9: part-0", root + "/2018: part-0"}},
		{"relative, and a pattern", []string{"2017/10", "201[68]/"}, []string{"2016/x: part-0", "2017/10/12: part-0 part-1", "2017/10/9: part-0", "2018: part-0"}},
		{"a leaf", []string{"2018"}, []string{"2018: part-0"}},
	} {
		dirs, err := Directories(t.Context(), disk, c.inputs, &Options{AllowEmpty: true})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		var got []string
		for _, d := range dirs {
			line := d.Path + ":"
			for _, f := range d.Files {
				line += " " + path.Base(f.Name)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for _, name := range []string{"2018/mark", "2018/sub/mark", "2016/mark", "2014/a/part-0", "2014/a/part-1"} { // empty files
		testcheck.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testcheck.Must(t, os.WriteFile(name, nil, 0o644))
	}
	dirs, err := Directories(t.Context(), disk, []string{root}, &Options{})
	testcheck.Must(t, err)
	if len(dirs) != 6 || dirs[0].Path != root+"/2014/a" || len(dirs[0].Files) != 0 || dirs[1].Path != root+"/2015" {
		t.Errorf("with empty files: %+v", dirs)
	}
	testcheck.Must(t, os.RemoveAll("2014"))
	plant(t, root, "2018/01/part-0")
	for _, c := range []struct {
		input []string
		say   string
	}{
		{[]string{root}, "the directory " + root + "/2018 holds files, and so does " + root + "/2018/01 below it: " +
			"a part is one directory, so move its files, such as part-0, into one of their own"},
		{[]string{root + "/2017/10/12/part-0"}, "the inputs name 1 of the 2 files of the directory " + root + "/2017/10/12: a part is a whole directory, so name directories"},
		{[]string{root + "/2017/10/*/part-1"}, "the inputs name 1 of the 2 files of the directory " + root + "/2017/10/12: a part is a whole directory, so name directories"},
		{[]string{root + "/2017", root + "/2017/10/9"}, "input " + root + "/2017/10/9: the file " + root + "/2017/10/9/part-0 is there twice (it also comes from " + root + "/2017)"},
		{[]string{root + "/2019"}, "input " + root + "/2019: stat " + root + "/2019: no such file or directory"},
		{[]string{"/"}, "input /: name a directory below the root"},
	} {
		if _, err := Directories(t.Context(), disk, c.input, &Options{AllowEmpty: true}); fmt.Sprint(err) != c.say {
			t.Errorf("%q: error is %v, want %s", c.input, err, c.say)
		}
	}
}

// expandAll returns the files of an input, if any.
func expandAll(t interface{ Context() context.Context }, input string) ([]*File, error) {
	files, _, err := List(t.Context(), disk, []string{input}, &Options{AllowEmpty: true})
	return files, err
}

// TestDirectoriesAreTheWhole splits random trees. Together the parts have each file of the tree once, in order; a part
// that is read as an input has exactly its own files. A tree with files next to directories is refused.
func TestDirectoriesAreTheWhole(t *testing.T) {
	base := t.TempDir()
	n := 0
	testcheck.Check(t, func(t *rapid.T) {
		n++
		root := filepath.Join(base, fmt.Sprint(n))
		dir := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "b0", "日", "c d"}), 1, 3)
		var files []string
		for range rapid.IntRange(1, 12).Draw(t, "files") {
			files = append(files, path.Join(dir.Draw(t, "directory")...)+"/"+rapid.SampledFrom([]string{"f0", "f1", "_x", ".x"}).Draw(t, "file"))
		}
		plant(t, root, files...)
		whole, err := expandAll(t, root)
		if err != nil {
			t.Fatal(err)
		}
		mixed := slices.ContainsFunc(whole, func(f *File) bool {
			return slices.ContainsFunc(whole, func(g *File) bool { return strings.HasPrefix(path.Dir(g.Name), path.Dir(f.Name)+"/") })
		})
		dirs, err := Directories(t.Context(), disk, []string{root}, &Options{AllowEmpty: true})
		if mixed {
			if err == nil {
				t.Fatalf("a tree with files next to directories is taken: %q", files)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(dirs, func(a, b Directory) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("the parts are not in order: %v", dirs)
		}
		var got []string
		for _, d := range dirs {
			again, err := expandAll(t, d.Path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(again, d.Files, func(a *File, b *File) bool { return a.Path == b.Path && a.Name == b.Name }) {
				t.Fatalf("%s as an input means other files than as a part", d.Path)
			}
			for _, f := range d.Files {
				got = append(got, f.Path)
			}
		}
		var want []string
		for _, f := range whole {
			want = append(want, f.Path)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("the parts have %q, the tree %q", got, want)
		}
	})
}
