package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	update  = flag.Bool("update", false, "write docs/commands.md again")
	manDir  = flag.String("man", "", "write the man pages into this directory")
	manDate = flag.String("man-date", "2026-01-01T00:00:00Z", "date of the man pages, RFC 3339")
	manFor  = flag.String("man-version", "dev", "version that the man pages name")
)

// TestCommandsDoc checks that docs/commands.md matches the help texts of the commands.
func TestCommandsDoc(t *testing.T) {
	const file = "../../docs/commands.md"
	got := commandsDoc(newRootCmd(&globals{}))
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/commands.md is stale, make docs writes it again:\n%s", d)
	}
}

// TestManPages writes a page for each command, and checks them with the installed readers of man pages. With -man the
// pages are for release archives.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	date, err := time.Parse(time.RFC3339, *manDate)
	if err != nil {
		t.Fatal(err)
	}
	err = manPages(newRootCmd(&globals{}), dir, *manFor, date)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "bulkload*.1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 20 {
		t.Errorf("%d pages: %v", len(pages), pages)
	}
	b, err := os.ReadFile(filepath.Join(dir, "bulkload-run.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{".SH EXIT STATUS", `\fB143\fP`, `\fB--field-sep\fP`, `\\x01`, ".SH EXAMPLES"} {
		if !bytes.Contains(b, []byte(text)) {
			t.Errorf("the page of run lacks %q", text)
		}
	}
	for _, judge := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"}, {"groff", "-man", "-k", "-Tutf8", "-ww", "-Wbreak", "-z"}} {
		if _, err := exec.LookPath(judge[0]); err != nil {
			continue
		}
		out, err := exec.Command(judge[0], append(judge[1:], pages...)...).CombinedOutput()
		if err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: %v\n%s", strings.Join(judge, " "), err, out)
		}
	}
}
