package share

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestRejectsOfAStoppedShare checks that an attempt that is stopped leaves the complete file of bad records of an earlier attempt of its share, whose rows
// the merge takes; without one it leaves what it has found.
func TestRejectsOfAStoppedShare(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,name\n")
	for i := range 60 {
		fmt.Fprintf(&text, "%d,a\nbad%d\n", i, i)
	}
	input := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(input, []byte(text.String()), 0o600))
	s := spec.Spec{Inputs: []string{input}, Key: "id", Columns: []string{"id", "name"}, BadRecords: "1000"}
	env := jobtest.Env(t)
	p, err := Make(t.Context(), env, jobtest.Resolve(t, s), []build.Shape{{Families: spec.DefaultFamilies([]string{"f"})}}, build.WorkOptions{SplitSize: 64})
	testcheck.Must(t, err)
	dir := t.TempDir()
	of, file := Fraction{1, 1}, filepath.Join(dir, "share.rejects.jsonl")
	attempt := func(stop bool) (lines int, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := build.WorkOptions{Workers: 1, RejectFile: file}
		if stop {
			w.Events = progress.Events{OnSplit: cancel}
		}
		_, err = Build(ctx, env, p, of, filepath.Join(dir, "rows"), w)
		found, readErr := os.ReadFile(file)
		testcheck.Must(t, readErr)
		return strings.Count(string(found), "\n"), err
	}
	if lines, err := attempt(true); err == nil || lines < 2 || lines > 60 {
		t.Errorf("stopped first: %d lines, %v", lines, err)
	}
	for _, stop := range []bool{false, true} {
		if lines, err := attempt(stop); (err != nil) != stop || lines != 61 {
			t.Errorf("stopped %t: %d lines, %v", stop, lines, err)
		}
	}
}
