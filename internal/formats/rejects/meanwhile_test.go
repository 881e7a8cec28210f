package rejects

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"
)

// TestWhatComesMeanwhileIsNotReplaced checks that a file that appears at the path of the reject file while the records are read is kept, unless it is
// also a reject file or is empty. No temporary file is left.
func TestWhatComesMeanwhileIsNotReplaced(t *testing.T) {
	for what, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"an export":     {"a,b\n1,2\n", false},
		"other JSON":    {`{"path":"x"}`, false},
		"an empty file": {"", true},
		"a reject file": {`{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["a"]}` + "\n", true},
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		f := NewFile(setting.RejectFile, path)
		testcheck.Must(t, f.Check(func(fs.FileInfo) error { return nil }))
		testcheck.Must(t, f.Write(0, nil, &Record{Path: "x", Raw: []byte("y")}))
		testcheck.Must(t, os.WriteFile(path, []byte(tt.text), 0o600))
		n, err := f.Finish()
		if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, ErrPath) || tt.ok && n != 1 {
			t.Errorf("%s: %d records, %v", what, n, err)
		}
		text, err := os.ReadFile(path)
		testcheck.Must(t, err)
		if same := string(text) == tt.text; same == tt.ok {
			t.Errorf("%s: the file has %q", what, text)
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		testcheck.Must(t, err)
		if len(entries) != 1 {
			t.Errorf("%s: left are %v", what, entries)
		}
	}
}
