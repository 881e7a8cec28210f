package exportdir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// held returns a file system in memory whose directory /out has the given files; their names may begin with Writing.
func held(t *testing.T, files map[string]string) *hdfsio.Memory {
	t.Helper()
	fsys := hdfsio.NewMemory()
	for name, text := range files {
		name = path.Join("/out", name)
		testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Dir(name), 0o755))
		w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
		testcheck.Must(t, err)
		_, err = w.Write([]byte(text))
		testcheck.Must(t, errors.Join(err, w.Finish()))
	}
	return fsys
}

// listed returns the names in a directory, or nil if it does not exist.
func listed(t *testing.T, fsys hdfsio.FS, dir string) (names []string) {
	t.Helper()
	infos, err := fsys.ReadDir(t.Context(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	testcheck.Must(t, err)
	names = []string{}
	for _, i := range infos {
		names = append(names, i.Name())
	}
	return names
}

// TestFileAsDirectory checks that the path of a file is a usage error.
func TestFileAsDirectory(t *testing.T) {
	for name, fsys := range map[string]hdfsio.FS{"memory": held(t, map[string]string{"x": "x"}), "local": hdfsio.Local{}} {
		file := "/out/x"
		if name == "local" {
			file = path.Join(t.TempDir(), "x")
			testcheck.Must(t, os.WriteFile(file, []byte("x"), 0o600))
		}
		_, _, err := Claim(t.Context(), fsys, file, "ours")
		for _, err := range []error{err, Fits(t.Context(), fsys, file), Free(t.Context(), fsys, file)} {
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "not a directory: name a directory") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestClaim checks that a missing or empty directory can be claimed, and claimed again by the job that holds it. Other
// directories stay unchanged.
func TestClaim(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		again   bool
		refused string // empty: claimed
	}{
		{"missing", nil, false, ""},
		{"ours", map[string]string{"_writing/claim": `{"token": "ours", "made": true}`, "part-00000.csv": "x", "_writing/part-00001.csv": "x"}, true, ""},
		{"killed before its token", map[string]string{"_writing/claim.ours": "{"}, false, ""},
		{"other job", map[string]string{"_writing/claim": `{"token": "theirs"}`}, false, "give its command again"},
		{"earlier version", map[string]string{"_writing/claim": `{"owner": {"PID": 7}}`}, false, "give its command again"},
		{"torn", map[string]string{"_writing/claim": `{"to`}, false, "give its command again"},
		{"files without a token", map[string]string{"_writing/claim.theirs": "{", "part-00000.csv": "x"}, false, "name an empty directory"},
		{"complete", map[string]string{ManifestName: "{}", "x": ""}, false, "complete export"},
		{"others' files", map[string]string{"x": "x"}, false, "name an empty directory"},
	} {
		fsys := held(t, c.files)
		before := listed(t, fsys, "/out")
		if err := Fits(t.Context(), fsys, "/out"); (err != nil) != (c.refused != "" && !slices.Contains(before, Writing)) {
			t.Errorf("%s: %v", c.name, err)
		}
		d, again, err := Claim(t.Context(), fsys, "/out", "ours")
		if c.refused != "" {
			if !errors.Is(err, ErrNotEmpty) || fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.refused) || !slices.Equal(listed(t, fsys, "/out"), before) {
				t.Errorf("%s: %v, %v is left of %v", c.name, err, listed(t, fsys, "/out"), before)
			}
			continue
		}
		if err != nil || again != c.again || !slices.Contains(listed(t, fsys, "/out/"+Writing), claimName) {
			t.Errorf("%s: again %t, %v, %v", c.name, again, err, listed(t, fsys, "/out/"+Writing))
			continue
		}
		testcheck.Must(t, d.Remove(t.Context()))
		if left := listed(t, fsys, "/out"); len(left) > 0 || (left == nil) != (c.name != "killed before its token") {
			t.Errorf("%s: %v is left", c.name, left)
		}
	}
}

// TestOneClaims checks that one of several jobs that claim a directory concurrently holds it, with a complete token.
func TestOneClaims(t *testing.T) {
	for _, fsys := range []hdfsio.FS{hdfsio.NewMemory(), hdfsio.Local{}} {
		dir := path.Join(t.TempDir(), "out")
		var mu sync.Mutex
		var all sync.WaitGroup
		var won []string
		for i := range 8 {
			token := string(rune('a' + i))
			all.Go(func() {
				_, _, err := Claim(t.Context(), fsys, dir, token)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, token)
				} else if !errors.Is(err, ErrNotEmpty) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%v have it", won)
		}
		if d, err := Held(t.Context(), fsys, dir, won[0]); d == nil || err != nil {
			t.Errorf("%v, %v", d, err)
		}
	}
}

// TestRetain checks that recorded files with the recorded size stay, that other files of the export are removed, and
// that files that are not part of an export stay.
func TestRetain(t *testing.T) {
	fsys := held(t, map[string]string{"part-00000.csv": "123", "part-00001.csv": "12", "part-00002.csv": "1", ManifestName: "{}", "x": "x", "_writing/claim": `{"token": "ours"}`, "_writing/part-00003.csv": "1"})
	d, err := Held(t.Context(), fsys, "/out", "ours")
	testcheck.Must(t, err)
	there, err := d.Retain(t.Context(), map[string]int64{"part-00000.csv": 3, "part-00001.csv": 7, "part-00003.csv": 1, "part-00009.csv": 1})
	testcheck.Must(t, err)
	if got := listed(t, fsys, "/out"); len(there) != 1 || !there["part-00000.csv"] || !slices.Equal(got, []string{Writing, "part-00000.csv", "x"}) {
		t.Errorf("%v stay, listed %v", there, got)
	}
	testcheck.Must(t, d.Finish(t.Context()))
	if err := Free(t.Context(), fsys, "/out"); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	if err := Free(t.Context(), fsys, "/none"); err != nil {
		t.Error(err)
	}
	if d, err := Held(t.Context(), fsys, "/out", "ours"); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// TestUmask checks that others get no right to the rows of an export that the umask denies them.
func TestUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := path.Join(t.TempDir(), "out")
	d, _, err := Claim(t.Context(), hdfsio.Local{}, dir, "ours")
	testcheck.Must(t, err)
	for _, name := range []string{dir, path.Join(dir, Writing), path.Join(dir, Writing, claimName)} {
		info, err := os.Stat(name)
		testcheck.Must(t, err)
		if info.Mode()&0o077 != 0 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
	}
	if o := d.NewFile(); o.Perm != 0o600 {
		t.Errorf("files get mode %04o", o.Perm)
	}
}
