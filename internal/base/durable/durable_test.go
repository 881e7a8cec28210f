package durable

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestNewDirectoriesAreSyncedWithTheirParents checks that the name of each new directory is synced in its parent.
func TestNewDirectoriesAreSyncedWithTheirParents(t *testing.T) {
	top := t.TempDir()
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, dir)
		return SyncDir(dir)
	}
	mkdir := func(dir string) error { return os.Mkdir(dir, 0o700) }
	dir := filepath.Join(top, "a", "b", "job")
	if err := makeDirs(dir, mkdir, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	if synced = nil; makeDirs(dir, mkdir, sync) != nil || len(synced) != 0 {
		t.Errorf("a directory that is there: synced %q", synced)
	}
	private := filepath.Join(top, "private")
	if err := MakePrivateDir(private); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(file, "job")} {
		if err := MakePrivateDir(bad); err == nil {
			t.Errorf("made %s", bad)
		}
	}
}

// TestReplacedFileIsSyncedBeforeAndAfterItsRename checks that a file's bytes are synced before the rename, and its name
// after it.
func TestReplacedFileIsSyncedBeforeAndAfterItsRename(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	var steps []string
	note := func(what string) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, what+" "+string(b))
	}
	err := replace(name, []byte("new"), func(f *os.File) error {
		if b, err := os.ReadFile(f.Name()); err != nil || string(b) != "new" {
			t.Errorf("synced with %q, %v", b, err)
		}
		note("file")
		return nil
	}, func(dir string) error {
		note("directory")
		return nil
	})
	if want := []string{"file old", "directory new"}; err != nil || !slices.Equal(steps, want) {
		t.Errorf("%q, %v", steps, err)
	}
}

// TestReplace checks that no temporary file stays next to the file, and that a file that cannot be written leaves
// nothing.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	if err := cmp.Or(Replace(name, []byte("one")), ReplaceVolatile(name, []byte("two"))); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := Replace(dir, []byte("no")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := Replace(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("a file was made in a directory that is missing")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestCreate checks that a file is created complete with its permissions, and that one that is there, or a link, stays as it is.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(Create(in("new"), []byte("one"), 0o640), ReplaceShared(in("shared"), []byte("a")), ReplaceShared(in("shared"), []byte("b")), os.Symlink("none", in("link"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "link"} {
		if err := Create(in(name), []byte("two"), 0o640); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Create(in("none/x"), nil, 0o640); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, want := range map[string]string{"new": "one", "shared": "b"} {
		if b, err := os.ReadFile(in(name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if info, err := os.Stat(in("new")); err != nil || info.Mode().Perm()&0o137 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestOpenLines checks that a line begins after an incomplete one, and that a pipe is not read.
func TestOpenLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct{ old, before string }{{"", ""}, {"a\n", ""}, {"a\nb", "\n"}} {
		if err := os.WriteFile(name, []byte(c.old), 0o600); err != nil {
			t.Fatal(err)
		}
		f, before, err := OpenLines(name)
		if err != nil || before != c.before {
			t.Fatalf("%q: %q, %v", c.old, before, err)
		}
		if _, err := f.WriteString("c\n"); err != nil || f.Close() != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != c.old+"c\n" {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// TestReplaceKeepsLinksAndDevices checks that the file behind symbolic links is replaced, also one that does not exist yet, and that a pipe, which
// stands for a device such as /dev/null, stays what it is.
func TestReplaceKeepsLinksAndDevices(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(in("there"), 0o700), os.Symlink("there/file", in("link")), os.Symlink(in("link"), in("second")),
		syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pipe", in("to-pipe")), os.Symlink("loop", in("loop")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", "link"} {
		if err := Replace(in(name), []byte(name)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(in("there/file")); err != nil || string(b) != name {
			t.Errorf("%q, %v", b, err)
		}
		if info, err := os.Lstat(in(name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is not a link any more: %v, %v", name, info, err)
		}
	}
	for _, name := range []string{"pipe", "to-pipe", "loop"} {
		if err := Replace(in(name), []byte("no")); err == nil {
			t.Errorf("%s was replaced", name)
		}
	}
	if info, err := os.Lstat(in("pipe")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
}

// TestReplaceBy checks that a file has its name when it is complete, and none before where the file system has such files, that a failed writer leaves the earlier file and nothing else, and that a nameless
// file leaves nothing.
func TestReplaceBy(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	probe, err := createUnnamed(dir, name)
	unnamed := err == nil
	if unnamed {
		probe.Close()
	}
	write := func(text string, fails error) error {
		return ReplaceBy(name, func(f *os.File) error {
			if match, err := filepath.Match(TempPattern(name), filepath.Base(f.Name())); err != nil || !match {
				t.Errorf("the other name is %s, %v", f.Name(), err)
			}
			if _, err := os.Lstat(f.Name()); unnamed && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file has a name before it is complete: %v", err)
			}
			_, err := f.WriteString(text)
			return errors.Join(err, fails)
		})
	}
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("half", fs.ErrClosed); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	f, err := Nameless(dir, TempPattern(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("more"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	text, readErr := os.ReadFile(name)
	if len(entries) != 1 || string(text) != "old" || err != nil || readErr != nil {
		t.Errorf("%v, %q, %v, %v", entries, text, err, readErr)
	}
}
