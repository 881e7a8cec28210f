package reference

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

var (
	document  = flag.String("document", "", "document whose commands TestDocument runs, to write their output into it")
	directory = flag.String("directory", ".", "directory of these commands")
)

// TestDocument writes the output of a document's commands into the document.
func TestDocument(t *testing.T) {
	if *document == "" {
		t.Skip("has its own target: make docs-quick-start")
	}
	b, err := os.ReadFile(*document)
	testcheck.Must(t, err)
	text, err := Outputs(t.Context(), string(b), *directory)
	testcheck.Must(t, err)
	testcheck.Must(t, os.WriteFile(*document, []byte(text), 0o644))
}

func TestOutputs(t *testing.T) {
	const doc = "a\n```console\n$ x=1; echo old\nnew\n\n$ true\n```\nb\n```\n$ not run\n```\n```console\n$ echo $x >&2\n```\n"
	want := "a\n```console\n$ x=1; echo old\nold\n\n$ true\n```\nb\n```\n$ not run\n```\n```console\n$ echo $x >&2\n1\n```\n"
	if got, err := Outputs(t.Context(), doc, t.TempDir()); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := Outputs(t.Context(), "```console\n$ echo why; false\n\n$ true\n```\n", t.TempDir()); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("a command that fails: %v", err)
	}
}

// Outputs runs the commands of a document, the lines of its console blocks that begin with "$ ", in one shell in a
// directory, and returns the document with their current output. It ends at the first command that fails.
func Outputs(ctx context.Context, document, dir string) (string, error) {
	const begin, end = "```console\n", "\n```"
	// The shell writes the output of each command into a separate file.
	tmp, err := os.MkdirTemp("", "outputs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	script := "set -e\n"
	n := 0
	each := func(block string, do func(line string)) {
		for line := range strings.SplitSeq(block, "\n") {
			if c, ok := strings.CutPrefix(line, "$ "); ok {
				do(c)
			}
		}
	}
	parts := strings.Split(document, begin)
	for i, p := range parts[1:] {
		block, _, ok := strings.Cut(p, end)
		if !ok {
			return "", fmt.Errorf("console block %d has no end", i+1)
		}
		each(block, func(line string) {
			script += fmt.Sprintf("{ %s\n} > %s/%d 2>&1\n", line, tmp, n)
			n++
		})
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	runErr := cmd.Run()
	n = 0
	var out strings.Builder
	out.WriteString(parts[0])
	for _, p := range parts[1:] {
		block, rest, _ := strings.Cut(p, end)
		var lines []string
		each(block, func(line string) {
			printed, err := os.ReadFile(filepath.Join(tmp, strconv.Itoa(n)))
			if err != nil && runErr == nil {
				runErr = err
			}
			if runErr != nil && len(printed) > 0 {
				runErr = errors.Join(runErr, fmt.Errorf("$ %s\n%s", line, printed))
			}
			n++
			lines = append(lines, strings.TrimRight("$ "+line+"\n"+string(printed), "\n"))
		})
		out.WriteString(begin + strings.Join(lines, "\n\n") + end + rest)
	}
	return out.String(), runErr
}
