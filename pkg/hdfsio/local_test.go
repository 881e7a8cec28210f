package hdfsio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestInterimFiles checks that an interim file has its name from the first byte, that Abort removes it,
// and that it is never replaced.
func TestInterimFiles(t *testing.T) {
	for _, fsys := range []Local{{}, Local{}.Grouped()} {
		dir := t.TempDir()
		name, final := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		w, err := fsys.Create(t.Context(), name, CreateOptions{Interim: true, Perm: 0o640})
		testcheck.Must(t, err)
		if _, err := fsys.Create(t.Context(), name, CreateOptions{Interim: true}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second file of that name: %v", err)
		}
		_, err = w.Write([]byte("ab"))
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
		testcheck.Must(t, w.Abort())
		testcheck.Must(t, fsys.Rename(t.Context(), name, final))
		info, err := fsys.Stat(t.Context(), final)
		if err != nil || info.Size() != 2 || info.Mode() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
		w, err = fsys.Create(t.Context(), name, CreateOptions{Interim: true})
		testcheck.Must(t, err)
		testcheck.Must(t, w.Abort())
		if infos, err := fsys.ReadDir(t.Context(), dir); err != nil || len(infos) != 1 {
			t.Errorf("left: %v, %v", infos, err)
		}
	}
}

// TestNoDirectory checks that a file and a named pipe are refused as directories, without a wait for the pipe's writer.
func TestNoDirectory(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	testcheck.Must(t, os.WriteFile(file, nil, 0o600))
	testcheck.Must(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{file, pipe} {
		if _, err := (Local{}).ReadDir(t.Context(), name); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGroupedNames renames many files concurrently.
func TestGroupedNames(t *testing.T) {
	fsys, dir := Local{}.Grouped(), t.TempDir()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			name := filepath.Join(dir, "w"+string(rune('a'+i)))
			w, err := fsys.Create(t.Context(), name, CreateOptions{Interim: true})
			if err == nil {
				err = errors.Join(w.Finish(), fsys.Rename(t.Context(), name, name+".done"))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if infos, err := fsys.ReadDir(t.Context(), dir); err != nil || len(infos) != 40 {
		t.Errorf("%d files, %v", len(infos), err)
	}
}
