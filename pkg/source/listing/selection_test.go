package listing

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesThatAreBeingWrittenAreRefused checks files with the names of unfinished ones, found or named, with data or
// empty.
func TestFilesThatAreBeingWrittenAreRefused(t *testing.T) {
	const data = "a\n1\n"
	for _, name := range []string{"b.csv.inprogress", "b.csv.tmp", "b.csv.filepart", "b.csv.TMP", "sub/b.csv.partial", "sub.tmp/b.csv"} {
		for _, content := range []string{data, ""} {
			dir := tree(t, map[string]string{"in/a.csv": data, "in/" + name: content})
			first, _, _ := strings.Cut(name, "/")
			for _, input := range []string{"in", "in/*", "i?"} {
				wantRefused(t, input, openError(t, Options{}, dir, input), "in/"+first, "is being written")
			}
			if !strings.HasPrefix(name, "sub.tmp") {
				wantRefused(t, "by name", openError(t, Options{AllowEmpty: true}, dir, "in/"+name), "in/"+name, "is being written")
			}
			if err := openError(t, Options{}, dir, "in/*.csv"); err != nil {
				t.Errorf("excluded: %v", err)
			}
		}
	}
	// Hidden names stay hidden, and similar names are ordinary files.
	dir := tree(t, map[string]string{"a.csv": data, ".b.csv.inprogress": data, "_c.tmp": data, "tmp": data, "d.crc": data, "part.csv.part": data})
	if err := openError(t, Options{}, dir, ""); err != nil {
		t.Error(err)
	}
}

// TestPipesAndDevicesAreRefused checks that pipes, devices and sockets are refused, whether they are found or named.
func TestPipesAndDevicesAreRefused(t *testing.T) {
	dir := tree(t, map[string]string{"in/a.csv": "a\n1\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "in", "pipe.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "in a directory", openError(t, Options{}, dir, "in"), "in/pipe.csv is a pipe")
	wantRefused(t, "by a pattern", openError(t, Options{}, dir, "in/*.csv"), "in/pipe.csv is a pipe")
	wantRefused(t, "by name", openError(t, Options{AllowEmpty: true}, dir, "in/pipe.csv"), "in/pipe.csv is a pipe")
	if err := os.Symlink(filepath.Join(dir, "in", "pipe.csv"), filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "by a link", openError(t, Options{}, dir, "link.csv"), "link.csv is a pipe")
	wantRefused(t, "a device", openError(t, Options{}, "/dev", "null"), "/dev/null is a device")
	t.Chdir(dir)
	l, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wantRefused(t, "a socket", openError(t, Options{}, dir, "s"), "s is a socket")
}

// TestInputsWithoutDataAreRefused checks that inputs without data are refused, with the reason, unless they are
// allowed.
func TestInputsWithoutDataAreRefused(t *testing.T) {
	dir := tree(t, map[string]string{"full/a.csv": "a\n1\n", "full/b.csv": "", "empty/a.csv": "", "empty/sub/b.csv": "", "hidden/_SUCCESS": "", "hidden/.x": "a\n1\n",
		"both/a.csv": "", "both/_SUCCESS": "", "tree/_temporary/0/a.csv": "a\n1\n"})
	if err := os.MkdirAll(filepath.Join(dir, "none", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for input, say := range map[string]string{
		"none": "it has no files", "empty": "it has only 2 empty files", "hidden": "it has only 2 hidden names, such as .x",
		"both": "only 1 empty file and 1 hidden name, such as _SUCCESS", "tree": "1 hidden name, such as _temporary",
		"empty/a.csv": "it is an empty file", "empty/*.csv": "only 1 empty file", "hidden/*": "only 2 hidden names",
	} {
		wantError(t, input, openError(t, Options{}, dir, input), dir+"/"+input+": ", say, "`allow_empty`")
		wantError(t, input, openError(t, Options{}, dir, "full", input), say) // each input is checked separately
		if err := openError(t, Options{AllowEmpty: true}, dir, input); err != nil {
			t.Errorf("%s, allowed: %v", input, err)
		}
	}
	if err := openError(t, Options{}, dir, "full"); err != nil {
		t.Error(err)
	}
	for _, input := range []string{"gone", "gone/*"} {
		wantError(t, input, openError(t, Options{AllowEmpty: true}, dir, input), "gone")
	}
}

// TestHiddenNames checks that hidden names are left out like in the engines, and counted by kind.
func TestHiddenNames(t *testing.T) {
	const data = "a\n1\n"
	dir := tree(t, map[string]string{"t/a.csv": data, "t/_SUCCESS": "", "t/_temporary/0/b.csv": data, "t/.hive-staging_hive_1/b.csv": data, "t/.a.csv.crc": data,
		"t/_committed_1": data, "t/_started_1": data, "t/.spark-staging-1/b.csv": data, "t/_x": data, "t/.x": data, "t/.y": data, "t/empty": "", "u/b.csv._COPYING_": data})
	files, left, err := List(t.Context(), disk, []string{dir + "/t"}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(files); n != 1 {
		t.Errorf("%d files", n)
	}
	var got []string
	for _, l := range left {
		got = append(got, fmt.Sprintf("%s %d", l.Kind, l.Count))
		if !strings.HasPrefix(l.First, dir+"/t/") {
			t.Errorf("%+v", l)
		}
	}
	if want := ".* 2,.*.crc 1,.hive-staging* 1,.spark-staging* 1,_* 1,_SUCCESS 1,_committed_* 1,_started_* 1,_temporary 1,empty file 1"; strings.Join(got, ",") != want {
		t.Errorf("left out: %s", strings.Join(got, ","))
	}
	if err := openError(t, Options{}, dir, "t/_x"); err != nil {
		t.Errorf("a hidden file by name: %v", err)
	}
	wantRefused(t, "a half copied file", openError(t, Options{}, dir, "u"), "is being written")
	wantRefused(t, "a half copied file by name", openError(t, Options{}, dir, "u/b.csv._COPYING_"), "is being written")
}
