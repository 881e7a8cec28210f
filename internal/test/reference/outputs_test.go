package reference

import (
	"strings"
	"testing"
)

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
