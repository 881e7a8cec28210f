package build

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"
)

// TestDuplicatesOfAllFormats builds from the same rows in files of five formats, four of them as duplicates. It checks that the part of the file of
// left-out records for each format can be loaded again, and gives the rows of the export.
func TestDuplicatesOfAllFormats(t *testing.T) {
	lines, records := jsonAndAvro(t, jobtest.Export(t, "check.csv"))
	inputs := []string{jobtest.Export(t, "check.csv"), jobtest.Export(t, "check.dump"), jobtest.Export(t, "check.parquet"), lines, records}
	build := func(inputs []string, format string, w WorkOptions) string {
		s := jobtest.Spec(t, "check")
		s.Inputs, s.Format, s.Duplicates, s.Timestamp = inputs, format, "last", 1700000000000
		s.Columns = strings.Split(checkColumns(t), ",")
		out := t.TempDir()
		m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, w)
		testcheck.Must(t, err)
		if format == "" && m.Duplicates != 4*3000 {
			t.Errorf("%d duplicates", m.Duplicates)
		}
		return fmt.Sprintf("rows=%d cells=%d sha256=%s", m.Digest.Rows, m.Digest.Cells, scanDigest(t, out, m))
	}
	w := WorkOptions{Workers: 2, SplitSize: 64 << 10, DuplicatesFile: filepath.Join(t.TempDir(), "d.jsonl")}
	build(inputs, "", w)
	of := map[string]int{}
	for _, l := range readLeft(t, w.DuplicatesFile) {
		if of[l.Path]++; l.Kept == nil || l.Kept.Path != records || l.Kept.Record == 0 {
			t.Fatalf("%s", l)
		}
	}
	for _, input := range inputs[:4] {
		if of[input] != 3000 {
			t.Errorf("%d duplicates of %s", of[input], input)
		}
	}
	b, err := os.ReadFile(w.DuplicatesFile)
	testcheck.Must(t, err)
	parts := strings.Split(string(b), rejects.Magic)[1:]
	if len(parts) != 4 {
		t.Errorf("%d forms", len(parts))
	}
	for _, part := range parts {
		if got, want := build([]string{writeInput(t, "d.jsonl", rejects.Magic+part)}, "rejects", WorkOptions{}), jobtest.DigestLine(t, "check", "skip"); got != want {
			t.Errorf("%.80s: %s, want %s", part, got, want)
		}
	}
}

// checkColumns returns the header of the export.
func checkColumns(t *testing.T) string {
	b, err := os.ReadFile(jobtest.Export(t, "check.csv"))
	testcheck.Must(t, err)
	header, _, _ := bytes.Cut(b, []byte("\n"))
	return strings.TrimSpace(string(header))
}

// TestDuplicatesBesideAnIndex checks that index entries that are left out, because their records were left out of the first table, are in no file.
func TestDuplicatesBesideAnIndex(t *testing.T) {
	s := indexedSpec(writeInput(t, "x.csv", "k1,v1,a\nk2,v2,b\nk1,v3,c\nk1,v1,a\n"), "last")
	w := WorkOptions{DuplicatesFile: filepath.Join(t.TempDir(), "d")}
	m := heldEntries(t, s, nil, w)
	lines := readLeft(t, w.DuplicatesFile)
	if len(lines) != 2 || lines[0].Raw != "k1,v1,a" || lines[1].Raw != "k1,v3,c" || lines[0].Kept.Offset != 24 || m[0].DuplicatesFile != w.DuplicatesFile {
		t.Errorf("%v, %s", lines, m[0].DuplicatesFile)
	}
	if m[1].Duplicates != 2 || m[1].DuplicatesFile != "" || len(readLeft(t, FileOf(w.DuplicatesFile, "i"))) > 0 {
		t.Errorf("the index: %d duplicates in %q", m[1].Duplicates, m[1].DuplicatesFile)
	}
}

// TestChangedBeforeItIsReadAgain checks that a record that has moved ends the build, and that no file is left.
func TestChangedBeforeItIsReadAgain(t *testing.T) {
	input := writeInput(t, "x.csv", "id,v\na,1\nb,2\na,3\n")
	info, err := os.Stat(input)
	testcheck.Must(t, err)
	for name, text := range map[string]string{"moved": "id,v\naa,1\nb,2\na,\n", "shorter": "id,v\n", "other bytes": "id,v\na,1\nb,2\na,4\n"} {
		testcheck.Must(t, os.WriteFile(input, []byte("id,v\na,1\nb,2\na,3\n"), 0o600))
		s := jobtest.CSVSpec(input)
		s.Duplicates = "first"
		dir := t.TempDir()
		w := WorkOptions{DuplicatesFile: filepath.Join(dir, "d.jsonl"), Events: progress.Events{OnPhase: func(phase string) {
			if phase == "write" {
				testcheck.Must(t, os.WriteFile(input, []byte(text), 0o600))
				testcheck.Must(t, os.Chtimes(input, time.Time{}, info.ModTime()))
			}
		}}}
		testcheck.Must(t, os.Chtimes(input, time.Time{}, info.ModTime()))
		_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(dir, "out"), w)
		if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "changed") && !strings.Contains(err.Error(), "no record begins there") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*d.jsonl*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// TestRefusedFilesOfRecords checks invalid settings: two kinds of records in one file, duplicates that are cells, an input as the output file.
func TestRefusedFilesOfRecords(t *testing.T) {
	dir := t.TempDir()
	input := writeInput(t, "x.csv", "id,v\na,1\na,2\n")
	plain := jobtest.CSVSpec(input)
	plain.Duplicates = "last"
	versions := plain
	versions.Duplicates, versions.CellTimestamp = "versions", &spec.TimeColumn{Column: "v"}
	wide := plain
	wide.Cells = []spec.CellSpec{{Column: "v", QualifierFrom: "id"}}
	file := filepath.Join(dir, "f.jsonl")
	for name, c := range map[string]struct {
		spec spec.Spec
		work WorkOptions
		want string
	}{
		"one file":          {plain, WorkOptions{FilteredFile: file, DuplicatesFile: file}, "cannot have records of two kinds"},
		"versions":          {versions, WorkOptions{DuplicatesFile: file}, "cells are left out, not records"},
		"qualifiers":        {wide, WorkOptions{DuplicatesFile: file}, "cells are left out, not records"},
		"an input":          {plain, WorkOptions{FilteredFile: input}, "filtered file " + input + ": it cannot be this file"},
		"another directory": {plain, WorkOptions{DuplicatesFile: filepath.Join(dir, "none", "d.jsonl")}, "duplicates file " + filepath.Join(dir, "none", "d.jsonl")},
	} {
		_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, c.spec), jobtest.Family, nil, filepath.Join(dir, "out"), c.work)
		if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestFilesOfAnEarlierAttempt checks that the sorted rows of an earlier attempt are used only if its files of left-out records are at the
// paths that this attempt uses.
func TestFilesOfAnEarlierAttempt(t *testing.T) {
	here, gone := writeInput(t, "f.jsonl", "x"), filepath.Join(t.TempDir(), "f.jsonl")
	for name, c := range map[string]struct {
		records    int64
		file, want string
		kept       bool
	}{"there": {2, here, here, true}, "gone": {2, gone, gone, false}, "elsewhere": {2, here, gone, false}, "not asked for then": {2, "", here, false},
		"not asked for now": {2, here, "", true}, "none left out": {0, "", gone, true}} {
		o := Options{}.WithDefaults()
		if c.want != "" {
			o.Filtered = source.NewFilteredFile(c.want)
		}
		r := &Resume{Done: &Done{Sorted: &SortedRecord{sortTotals: sortTotals{Filtered: c.records, FilteredFile: c.file}}}}
		if got := r.filesKept(o); got != c.kept {
			t.Errorf("%s: kept %t, want %t", name, got, c.kept)
		}
	}
}

// TestFilteredFileOfFailedBuild checks that a build without a journal that fails after it has read the input leaves no file of filtered records,
// and keeps that of an earlier build; one that can be resumed has the file, which its next attempt uses.
func TestFilteredFileOfFailedBuild(t *testing.T) {
	const earlier = rejects.Magic + "}\n"
	failing := map[string]func(*spec.Spec){
		"duplicates": func(s *spec.Spec) { s.Duplicates = "fail" },
		"expectations": func(s *spec.Spec) {
			*s = expecting(t, s.Inputs[0], "expect:\n- rows: {min: 1000}\n")
			s.Filter = "v != '9'"
		},
		"nothing": func(s *spec.Spec) { s.Duplicates = "last" },
	}
	for name, change := range failing {
		for _, before := range []string{"", earlier} {
			s := jobtest.CSVSpec(writeInput(t, "x.csv", "id,v\na,1\nb,2\na,3\nz,9\n"))
			s.Filter = "v != '9'"
			change(&s)
			w := WorkOptions{FilteredFile: filepath.Join(t.TempDir(), "f.jsonl")}
			if before != "" {
				testcheck.Must(t, os.WriteFile(w.FilteredFile, []byte(before), 0o600))
			}
			m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), w)
			text, _ := os.ReadFile(w.FilteredFile)
			switch {
			case name == "nothing":
				if err != nil || m.FilteredFile != w.FilteredFile || len(readLeft(t, w.FilteredFile)) != 1 {
					t.Errorf("%v, %+v, the file has %q", err, m, text)
				}
			case err == nil || string(text) != before:
				t.Errorf("%s: %v, the file has %q, want %q", name, err, text, before)
			}
		}
	}
	s := jobtest.CSVSpec(writeInput(t, "x.csv", "id,v\na,1\na,3\nz,9\n"))
	s.Duplicates, s.Filter = "fail", "v != '9'"
	w, done := WorkOptions{FilteredFile: filepath.Join(t.TempDir(), "f.jsonl"), SpillDir: t.TempDir()}, NewDone()
	j := jobtest.Resolve(t, s)
	k, err := OpenInput(t.Context(), jobtest.Env(t).Source, j, w)
	testcheck.Must(t, err)
	plans, err := NewPlans(j, k.Source.Columns(), tablesShapes(t, j, nil), 0)
	testcheck.Must(t, err)
	tables := Output{FS: hdfsio.Local{}, Dir: filepath.Join(t.TempDir(), "out")}.Tables(j, plans)
	_, err = k.BuildTables(t.Context(), tables, w, 0, &Resume{Done: &done, Checkpoint: noCheckpoint{&done}, Name: "job"})
	testcheck.Must(t, k.Close())
	if fail.KindOf(err) != fail.BadRows || len(readLeft(t, w.FilteredFile)) != 1 || done.Sorted == nil || done.Sorted.FilteredFile != w.FilteredFile {
		t.Errorf("a build that can be resumed: %v, %+v", err, done.Sorted)
	}
}
