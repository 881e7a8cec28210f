package ui

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestPlain checks that names of others' files do not control the terminal.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n": "a\tb\n", "上海 ü": "上海 ü", "e\x1b[31mvil\r": `e\x1B[31mvil\x0D`, "\u009b1m\x7f\xff\xef上": `\x9B1m\x7F` + "\xff\xef上", "\x1b\ufffd": `\x1B` + "\ufffd",
	} {
		var b strings.Builder
		if n, err := fmt.Fprint(Plain(&b), text); err != nil || n != len(text) || b.String() != want {
			t.Errorf("%q: %q, %d, %v", text, b.String(), n, err)
		}
	}
	name := filepath.Join(t.TempDir(), "console")
	f, err := os.Create(name)
	testcheck.Must(t, err)
	(&Console{File: f}).Say(slog.LevelError, "", "e\x1b[31mvil.csv\nsecond line")
	testcheck.Must(t, f.Close())
	if got, err := os.ReadFile(name); err != nil || string(got) != "bulkload: e\\x1B[31mvil.csv\nsecond line\n" {
		t.Errorf("%q, %v", got, err)
	}
}
