package build

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
)

// TestSameFiles checks that a file for records that were left out of a build is refused if they are in another one, or in none: it would not be written.
func TestSameFiles(t *testing.T) {
	s := jobtest.CSVSpec("/in")
	s.Tables = []spec.TableSpec{{Table: "u", Key: "v"}}
	j := jobtest.Resolve(t, s)
	one := manifest.Manifest{Rejected: 2, RejectFile: "/r", Filtered: 3, Duplicates: 4, DuplicatesFile: "/d.jsonl"}
	two := manifest.Manifest{Duplicates: 1, DuplicatesFile: "/d.u.jsonl"}
	for name, c := range map[string]struct {
		w    WorkOptions
		want string // empty: accepted
	}{
		"none":                    {WorkOptions{}, ""},
		"the same":                {WorkOptions{RejectFile: "/r", DuplicatesFile: "/d.jsonl"}, ""},
		"another for bad records": {WorkOptions{RejectFile: "/other"}, "`reject_file` /other: the files are built, and their 2 records are in /r"},
		"one more":                {WorkOptions{RejectFile: "/r", FilteredFile: "/f"}, "`filtered_file` /f: the files are built, and their 3 records are in no file"},
		"another for duplicates":  {WorkOptions{DuplicatesFile: "/e.jsonl"}, "`duplicates_file` /e.jsonl: the files are built, and their 4 records are in /d.jsonl"},
	} {
		err := c.w.SameFiles(j, []*manifest.Manifest{&one, &two})
		if (err == nil) != (c.want == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one.Duplicates = 0
	if err := (WorkOptions{DuplicatesFile: "/e.jsonl"}).SameFiles(j, []*manifest.Manifest{&one, &two}); err == nil || !strings.Contains(err.Error(), "/e.u.jsonl") {
		t.Errorf("of the further table: %v", err)
	}
	if err := (WorkOptions{FilteredFile: "/f"}).SameFiles(j, []*manifest.Manifest{{}}); err != nil {
		t.Errorf("no records: %v", err)
	}
}
