package rejects

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/pkg/setting"
)

// TestWholeRecordIsKept checks that long records, of text and of other bytes, are kept whole.
func TestWholeRecordIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.jsonl")
	f := NewFile(setting.RejectFile, path)
	raws := []string{strings.Repeat("规,\"\\\n\t\x01", 1<<18), strings.Repeat("\xff\x00,", 1<<20), "", "</>&\u2028"}
	for i, raw := range raws {
		if err := f.Write(0, nil, &Record{Path: "x", Offset: int64(i), Raw: []byte(raw)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := f.Finish(); n != len(raws) || err != nil {
		t.Fatal(n, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n"))[1:] {
		var j struct {
			Raw       string
			RawBase64 []byte `json:"raw_base64"`
		}
		if err := json.Unmarshal(line, &j); err != nil || j.Raw+string(j.RawBase64) != raws[i] {
			t.Errorf("record %d: %d and %d bytes of %d, %v", i, len(j.Raw), len(j.RawBase64), len(raws[i]), err)
		}
	}
}

// TestRejectFileReplacesNothingElse checks that only a reject file or an empty file is replaced. If the path is a link to one, its target is replaced
// and the link stays.
func TestRejectFileReplacesNothingElse(t *testing.T) {
	ours := `{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["a"]}` + "\n"
	formerly := `{"path":"x.csv","offset":1,"record":1,"reason":"why","raw":"x"}` + "\n"
	for name, tt := range map[string]struct {
		make func(path string) error
		ok   bool
	}{
		"nothing":            {func(string) error { return nil }, true},
		"an empty file":      {func(p string) error { return os.WriteFile(p, nil, 0o644) }, true},
		"a reject file":      {func(p string) error { return os.WriteFile(p, []byte(ours), 0o644) }, true},
		"one without a form": {func(p string) error { return os.WriteFile(p, []byte(formerly), 0o644) }, true},
		"a link to a reject": {func(p string) error {
			return errors.Join(os.WriteFile(p+"x", []byte(ours), 0o644), os.Symlink(p+"x", p))
		}, true},
		"an export":          {func(p string) error { return os.WriteFile(p, []byte("a,b\n1,2\n"), 0o644) }, false},
		"other JSON":         {func(p string) error { return os.WriteFile(p, []byte(`{"path":"x"}`), 0o644) }, false},
		"a directory":        {func(p string) error { return os.Mkdir(p, 0o755) }, false},
		"a pipe":             {func(p string) error { return syscall.Mkfifo(p, 0o644) }, false},
		"a link to a device": {func(p string) error { return os.Symlink(os.DevNull, p) }, false},
		"a link to an export": {func(p string) error {
			return errors.Join(os.WriteFile(p+"x", []byte("a\n"), 0o644), os.Symlink(p+"x", p))
		}, false},
		"a link to nothing": {func(p string) error { return os.Symlink(p+"x", p) }, false},
		"no directory, but this": {func(p string) error {
			return errors.Join(os.Remove(filepath.Dir(p)), os.WriteFile(filepath.Dir(p), nil, 0o644))
		}, false},
		"no directory": {func(p string) error { return os.Remove(filepath.Dir(p)) }, false},
	} {
		path := filepath.Join(t.TempDir(), "d", "r.jsonl")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), tt.make(path)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		f := NewFile(setting.RejectFile, path)
		if err := f.Check(func(fs.FileInfo) error { return nil }); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if !tt.ok && before != nil && before.IsDir() == false && before.Mode()&os.ModeNamedPipe == 0 {
			// A file that appears after the check is not replaced either.
			if err := f.Write(0, nil, &Record{Path: "x"}); err == nil {
				if _, err := f.Finish(); err == nil {
					t.Errorf("%s: it was replaced", name)
				}
			}
		}
		after, _ := os.Lstat(path)
		if !tt.ok && (before == nil) != (after == nil) || before != nil && !os.SameFile(before, after) {
			t.Errorf("%s: it was %v, it is %v", name, before, after)
		}
		if !tt.ok {
			continue
		}
		if err := f.Write(0, nil, &Record{Path: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Finish(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.Lstat(path); name == "a link to a reject" && after.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link was replaced, not what it names", name)
		}
	}
}

// TestRemoveTempRemovesNothingElse checks that only temporary files are removed, even if names have special characters of patterns.
func TestRemoveTempRemovesNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state [1]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rejects[0].jsonl")
	stay := []string{".rejects0.jsonl.123", ".rejects[0].jsonl.swp", "rejects[0].jsonl", "rejects[0].jsonl.123"}
	for _, name := range stay {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewFile(setting.RejectFile, path).Write(0, nil, &Record{Path: "x.csv", Reason: "why", Raw: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := NewFile(setting.RejectFile, path).RemoveTemp(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, stay) {
		t.Errorf("left are %q", left)
	}
	if err := NewFile(setting.RejectFile, filepath.Join(dir, "missing", "x")).RemoveTemp(); err != nil {
		t.Error(err)
	}
}
