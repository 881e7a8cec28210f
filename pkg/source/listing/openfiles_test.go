package listing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/test/testcheck"
)

// openFS is a disk on which some files are open for writing.
type openFS struct {
	testcheck.Disk
	mu     sync.Mutex
	open   map[string]bool
	asked  map[string]int
	answer func(name string) // called before an answer is given
}

func (o *openFS) BeingWritten(_ context.Context, name string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[name]++
	if o.answer != nil {
		o.answer(name)
	}
	if _, err := os.Stat(name); err != nil {
		return false, err
	}
	return o.open[name], nil
}

func newOpenFS(t *testing.T, sizes map[string]int) (o *openFS, dir string, resolve func(string) (FS, string, error)) {
	t.Helper()
	dir = t.TempDir()
	for name, rows := range sizes {
		text := ""
		if rows > 0 {
			text = "id,v\n" + strings.Repeat("a,1\n", rows)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o = &openFS{open: map[string]bool{}, asked: map[string]int{}}
	return o, dir, func(name string) (FS, string, error) { return o, name, nil }
}

// TestOpenFilesAreRefused checks that files that are open for writing are refused: empty or not, named or found, alone
// or among others.
func TestOpenFilesAreRefused(t *testing.T) {
	o, dir, resolve := newOpenFS(t, map[string]int{"a.csv": 1, "b.csv": 2, "empty.csv": 0, "_SUCCESS": 0})
	for _, name := range []string{"b.csv", "empty.csv"} {
		o.open = map[string]bool{filepath.Join(dir, name): true}
		for _, inputs := range [][]string{{dir}, {dir + "/*.csv"}, {dir + "/" + name}, {dir + "/a.csv", dir + "/" + name}} {
			for _, allowEmpty := range []bool{false, true} {
				_, _, err := List(t.Context(), resolve, inputs, &Options{AllowEmpty: allowEmpty})
				if !errors.Is(err, ErrSelection) || !strings.Contains(err.Error(), name+" is open for writing on HDFS") || !strings.Contains(err.Error(), "recoverLease") {
					t.Errorf("%v: %v", inputs, err)
				}
			}
		}
		if _, err := Directories(t.Context(), resolve, []string{dir}, &Options{}); !errors.Is(err, ErrSelection) {
			t.Errorf("directories with %s: %v", name, err)
		}
	}
	o.open = map[string]bool{filepath.Join(dir, "_SUCCESS"): true} // not an input
	o.asked = map[string]int{}
	files, _, err := List(t.Context(), resolve, []string{dir}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(files), len(o.asked)); got != "2 3" {
		t.Errorf("files, and how many were asked about: %s", got)
	}
	for name, n := range o.asked {
		if n != 1 {
			t.Errorf("%s was asked about %d times", name, n)
		}
	}
	o.asked = map[string]int{}
	if _, err := Directories(t.Context(), resolve, []string{dir}, &Options{}); err != nil {
		t.Fatal(err)
	}
	for name, n := range o.asked {
		if n != 1 {
			t.Errorf("directories: %s was asked about %d times", name, n)
		}
	}
}

// TestFileOpenedAfterwardsIsRefused checks that Recheck refuses files that are open by then: one that was read, and one
// that was left out.
func TestFileOpenedAfterwardsIsRefused(t *testing.T) {
	o, dir, resolve := newOpenFS(t, map[string]int{"a.csv": 1, "empty.csv": 0})
	files, _, err := List(t.Context(), resolve, []string{dir}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Recheck(t.Context(), resolve, []string{dir}, Options{}, files); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.csv", "empty.csv"} {
		o.open = map[string]bool{filepath.Join(dir, name): true}
		if err := Recheck(t.Context(), resolve, []string{dir}, Options{}, files); !errors.Is(err, ErrSelection) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFileClosedMeanwhileIsNotLeftOut checks that a file that was empty when it was listed, and has rows when its state
// is queried, is reported as changed.
func TestFileClosedMeanwhileIsNotLeftOut(t *testing.T) {
	o, dir, resolve := newOpenFS(t, map[string]int{"a.csv": 1, "late.csv": 0})
	o.answer = func(name string) {
		if filepath.Base(name) == "late.csv" {
			if err := os.WriteFile(name, []byte("id,v\nb,1\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	var changed *ChangedError
	if _, _, err := List(t.Context(), resolve, []string{dir}, &Options{}); !errors.As(err, &changed) || !strings.HasSuffix(changed.Path, "late.csv") {
		t.Errorf("error is %v", err)
	}
	o.answer = func(name string) { _ = os.Remove(name) }
	if _, _, err := List(t.Context(), resolve, []string{dir}, &Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}
