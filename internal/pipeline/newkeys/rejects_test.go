package newkeys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestRejectsOfAFailedAttempt checks that the file of an earlier attempt stays complete when a later one fails, and that otherwise a failed attempt leaves
// what it has found.
func TestRejectsOfAFailedAttempt(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "rejects.keys")
	for _, c := range []struct {
		keys   []string
		failed bool
		want   string
	}{
		{[]string{"a"}, true, "a\tbad\n"},
		{[]string{"a", "b", "c"}, false, "a\tbad\nb\tbad\nc\tbad\n"},
		{[]string{"a"}, true, "a\tbad\nb\tbad\nc\tbad\n"},
		{nil, false, "a\tbad\nb\tbad\nc\tbad\n"},
		{[]string{"d"}, false, "d\tbad\n"},
	} {
		f := &rejectFile{path: name, keep: true}
		for _, key := range c.keys {
			testcheck.Must(t, f.write([]byte(key), errors.New("bad")))
		}
		used, err := f.finish(c.failed)
		text, readErr := os.ReadFile(name)
		if err != nil || used != (len(c.keys) > 0) || readErr != nil || string(text) != c.want {
			t.Errorf("%+v: %t, %q, %v", c, used, text, errors.Join(err, readErr))
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestRejectsOfAKilledAttempt checks that an attempt that does not come to its end leaves no file.
func TestRejectsOfAKilledAttempt(t *testing.T) {
	dir := t.TempDir()
	f := &rejectFile{path: filepath.Join(dir, "rejects.keys")}
	testcheck.Must(t, f.write([]byte("a"), errors.New("bad")))
	testcheck.Must(t, f.out.Flush())
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := f.finish(false); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(f.path); err != nil || string(text) != "a\tbad\n" {
		t.Errorf("%q, %v", text, err)
	}
}
