package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// cellsOf returns cells of one family, in order.
func cellsOf(family string, rows int) []hfile.Cell {
	cells := jobtest.SomeCells(rows)
	for i := range cells {
		cells[i].Family = []byte(family)
	}
	return cells
}

// TestListedFamilies checks that every directory that may be a family's counts as one, whatever its name begins with, and that only directories known
// not to be are skipped.
func TestListedFamilies(t *testing.T) {
	list := func(t *testing.T, entries ...string) ([]string, error) {
		dir := t.TempDir()
		jobtest.WriteCells(t, hdfsio.Local{}, filepath.Join(dir, "f", "a"), cellsOf("f", 2), hfile.Options{})
		for _, e := range entries {
			if family, ok := strings.CutSuffix(e, "/hfile"); ok {
				jobtest.WriteCells(t, hdfsio.Local{}, filepath.Join(dir, e), cellsOf(family, 2), hfile.Options{Family: []byte(family)})
			} else if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(e)), 0o755); err != nil {
				t.Fatal(err)
			} else if err := os.WriteFile(filepath.Join(dir, e), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		files, err := ListHFiles(t.Context(), hdfsio.Local{}, dir)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		return names, err
	}
	for _, entry := range []string{"_bulkload.json", "_SUCCESS", "_journal.jsonl", "_committed_17", "_started_17", ".crc", ".x/hfile", "._bulkload.json.ABCDEFGHIJ.writing", "_merge/merge-1.json", "f/_SUCCESS", "f/.a.crc"} {
		if names, err := list(t, entry); err != nil || !slices.Equal(names, []string{"f/a"}) {
			t.Errorf("%s is not passed over: %v, %v", entry, names, err)
		}
	}
	for _, family := range []string{"_cf", "_", "__x", "_tmp", "_logs", "_committed_17", "_x=1"} {
		names, err := list(t, family+"/hfile")
		if slices.Sort(names); err != nil || !slices.Equal(names, slices.Sorted(slices.Values([]string{"f/a", family + "/hfile"}))) {
			t.Errorf("family %s: %v, %v", family, names, err)
		}
	}
	for entry, says := range map[string]string{"_writing/x": "the build was not finished", "_temporary/0": "its job has not finished", "_notes": "is not the directory of a family",
		"_cf/notes": "_cf/notes", "notes": "is not the directory of a family"} {
		if names, err := list(t, entry); fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%s: %v, %v", entry, names, err)
		}
	}
	if _, err := list(t, "_merge/merge-00001-of-00002.json", "_writing/x"); fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), "not all of its merges are done; give those that are left") {
		t.Errorf("a merge is left: %v", err)
	}
}

// TestReservedFamilies checks that no file is written to a directory that would be taken for one of the program's own.
func TestReservedFamilies(t *testing.T) {
	for _, family := range []string{build.WritingDir, build.MergeDir} {
		out := build.Output{FS: hdfsio.Local{}, Dir: t.TempDir(), DirMode: 0o755}
		if err := out.Prepare(t.Context(), "f", family); fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), family) {
			t.Errorf("%s: %v", family, err)
		}
	}
}
