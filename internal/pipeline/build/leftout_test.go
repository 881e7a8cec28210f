package build

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// leftLine is a line in a file of left-out records.
type leftLine struct {
	Path   string         `json:"path"`
	Offset int64          `json:"offset"`
	Record int64          `json:"record"`
	Kept   *rejects.Place `json:"kept"`
	Raw    string         `json:"raw"`
}

func (l leftLine) String() string {
	kept := ""
	if l.Kept != nil {
		kept = fmt.Sprintf(" lost against %s:%d", l.Kept.Path, l.Kept.Offset)
	}
	return fmt.Sprintf("%s:%d, record %d%s: %s", l.Path, l.Offset, l.Record, kept, l.Raw)
}

// readLeft reads such a file, without the lines that describe how records were read; a missing file has no records.
func readLeft(t testing.TB, name string) (lines []leftLine) {
	t.Helper()
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	testcheck.Must(t, err)
	for text := range bytes.Lines(b) {
		if bytes.HasPrefix(text, []byte(rejects.Magic)) {
			continue
		}
		var l leftLine
		testcheck.Must(t, json.Unmarshal(text, &l))
		lines = append(lines, l)
	}
	return lines
}

// leftInput is a random input, with its expected results.
type leftInput struct {
	spec    spec.Spec
	records []leftRecord // in the order of the input, without bad ones
}

type leftRecord struct {
	leftLine
	id       string
	second   string // key of the second table
	filtered bool
}

// newLeftInput writes a CSV file with bad records and line ends within values, a file of JSON lines, and a compressed one, with n records each.
func newLeftInput(t testing.TB, r *rand.Rand, n, ids int, duplicates string) *leftInput {
	t.Helper()
	in := &leftInput{}
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.jsonl", "c.csv.gz"} {
		path := filepath.Join(dir, name)
		var b bytes.Buffer
		if name != "b.jsonl" {
			b.WriteString("id,v,x\n")
		}
		for i := range int64(n) {
			one := leftRecord{leftLine: leftLine{Path: path, Offset: int64(b.Len()), Record: i + 1}, id: fmt.Sprintf("k%05d", r.IntN(ids)), second: fmt.Sprintf("s%04d", r.IntN(2*ids)), filtered: r.IntN(5) == 0}
			x := "t"
			if one.filtered {
				x = "f"
			}
			one.Raw = fmt.Sprintf(`{"id":%q,"v":%q,"x":%q}`, one.id, one.second, x)
			if name != "b.jsonl" {
				if r.IntN(20) == 0 {
					b.WriteString("bad\n")
					continue
				}
				one.Raw = fmt.Sprintf("%s,%s,%s", one.id, one.second, x)
				if r.IntN(10) == 0 {
					one.Raw = fmt.Sprintf("%s,\"%s\",\"%s\n\"", one.id, one.second, x)
					one.filtered = false // the text of x differs
				}
			}
			b.WriteString(one.Raw + "\n")
			in.records = append(in.records, one)
		}
		text := b.Bytes()
		if strings.HasSuffix(name, ".gz") {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, err := z.Write(text)
			testcheck.Must(t, err)
			testcheck.Must(t, z.Close())
			text = packed.Bytes()
		}
		testcheck.Must(t, os.WriteFile(path, text, 0o600))
		in.spec.Inputs = append(in.spec.Inputs, path)
	}
	in.spec.Table, in.spec.Key, in.spec.Columns, in.spec.Filter = "t", "id", []string{"id", "v", "x"}, "x != 'f'"
	in.spec.Duplicates, in.spec.BadRecords, in.spec.Timestamp = duplicates, "50%", 1700000000000
	in.spec.Tables = []spec.TableSpec{{Table: "ns:u", Key: "v", Columns: []string{"id"}}}
	return in
}

// filtered returns the records that the filter leaves out.
func (in *leftInput) filtered() (lines []leftLine) {
	for _, one := range in.records {
		if one.filtered {
			lines = append(lines, one.leftLine)
		}
	}
	return lines
}

// duplicates returns the records that were left out of a table, each with the record that was kept.
func (in *leftInput) duplicates(key func(leftRecord) string) (lines []leftLine) {
	won := map[string]leftRecord{}
	for _, one := range in.records {
		if _, had := won[key(one)]; !one.filtered && (!had || in.spec.Duplicates == "last") {
			won[key(one)] = one
		}
	}
	for _, one := range in.records {
		if w := won[key(one)]; !one.filtered && (w.Path != one.Path || w.Offset != one.Offset) {
			l := one.leftLine
			l.Kept = &rejects.Place{Path: w.Path, Offset: w.Offset}
			lines = append(lines, l)
		}
	}
	return lines
}

func (r leftRecord) first() string { return r.id }
func (r leftRecord) other() string { return r.second }

// same compares the lines of a file with the expected ones.
func (in *leftInput) same(t testing.TB, name string, want []leftLine) {
	t.Helper()
	got := readLeft(t, name)
	text := func(lines []leftLine) (all []string) {
		for _, l := range lines {
			all = append(all, l.String())
		}
		return all
	}
	g, w := text(got), text(want)
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s has %d lines, want %d; line %d is\n%q, want\n%q", filepath.Base(name), len(g), len(w), i, g[min(i, len(g)):min(i+1, len(g))], w[min(i, len(w)):min(i+1, len(w))])
		}
	}
}

// check compares all files of a build with the records, and its manifests with the files.
func (in *leftInput) check(t testing.TB, w WorkOptions, m []*manifest.Manifest) {
	t.Helper()
	in.same(t, w.FilteredFile, in.filtered())
	in.same(t, w.DuplicatesFile, in.duplicates(leftRecord.first))
	in.same(t, FileOf(w.DuplicatesFile, "ns_u"), in.duplicates(leftRecord.other))
	for i, key := range []func(leftRecord) string{leftRecord.first, leftRecord.other} {
		file := w.DuplicatesFile
		if i > 0 {
			file = FileOf(file, "ns_u")
		}
		if n := len(in.duplicates(key)); m[i].Duplicates != int64(n) || m[i].DuplicatesFile != file && n > 0 {
			t.Errorf("table %d: the manifest has %d duplicates in %q, want %d", i, m[i].Duplicates, m[i].DuplicatesFile, n)
		}
		if n := len(in.filtered()); m[i].Filtered != int64(n) || m[i].FilteredFile != w.FilteredFile && n > 0 {
			t.Errorf("table %d: the manifest has %d filtered in %q, want %d", i, m[i].Filtered, m[i].FilteredFile, n)
		}
	}
}

// leftFiles returns options with all files in a directory.
func leftFiles(dir string, w WorkOptions) WorkOptions {
	w.RejectFile, w.FilteredFile, w.DuplicatesFile = filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "f.jsonl"), filepath.Join(dir, "d.jsonl")
	return w
}

// TestFilesOfRecordsLeftOut compares the files of random records with a plain computation, in memory and on disk, with few workers and more.
func TestFilesOfRecordsLeftOut(t *testing.T) {
	r := testcheck.Rand(t)
	both := []string{"first", "last"}
	cases := []struct {
		records, ids int
		duplicates   []string
		work         WorkOptions
	}{{40, 10, both, WorkOptions{Workers: 1}}, {400, 100, both, WorkOptions{Workers: 3, SplitSize: 500}}, {3000, 2, both, WorkOptions{Workers: 2, SplitSize: 7000}},
		{50_000, 40_000, both[1:], WorkOptions{Workers: 1, SplitSize: 100_000, Memory: 20 << 20}}, {50_000, 900, both[:1], WorkOptions{Workers: 1, Memory: 20 << 20}}}
	if race.Reduced(t) {
		cases = cases[:3]
	}
	for _, c := range cases {
		for _, duplicates := range c.duplicates {
			in := newLeftInput(t, r, c.records, c.ids, duplicates)
			j := jobtest.Resolve(t, in.spec)
			w := leftFiles(t.TempDir(), c.work)
			w.SpillDir = t.TempDir()
			splits := map[string][][]byte{"t": {[]byte("k00001"), []byte("k00050")}, "ns:u": {[]byte("s0050")}}
			m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, splits), filepath.Join(t.TempDir(), "out"), w)
			testcheck.Must(t, err)
			if spills := m[0].Runs > 0; spills != (c.work.Memory > 0) {
				t.Errorf("%d runs in %s", m[0].Runs, c.work.Memory)
			}
			in.check(t, w, m)
			if left, err := os.ReadDir(w.SpillDir); err != nil || len(left) > 0 {
				t.Errorf("left in the directory for sorted rows: %v, %v", left, err)
			}
		}
	}
}

// TestFilesOfKilledBuilds stops a build at every record of its journal, each attempt one further: the files are the same as those of an
// uninterrupted build.
func TestFilesOfKilledBuilds(t *testing.T) {
	r := testcheck.Rand(t)
	for _, duplicates := range []string{"first", "last"} {
		in := newLeftInput(t, r, 60, 40, duplicates)
		j := jobtest.Resolve(t, in.spec)
		splits := map[string][][]byte{"t": {[]byte("k00010"), []byte("k00020"), []byte("k00030")}, "ns:u": {[]byte("s0020"), []byte("s0060")}}
		for stop, ended := 0, false; !ended; stop++ {
			w := leftFiles(t.TempDir(), WorkOptions{Workers: 2, SpillDir: t.TempDir(), SplitSize: 400})
			out, done := filepath.Join(t.TempDir(), "out"), NewDone()
			attempt := func(c Checkpoint) (_ []*manifest.Manifest, err error) {
				k, err := OpenInput(t.Context(), jobtest.Env(t).Source, j, w)
				testcheck.Must(t, err)
				defer func() { err = errors.Join(err, k.Close()) }()
				plans, err := NewPlans(j, k.Source.Columns(), tablesShapes(t, j, splits), 0)
				testcheck.Must(t, err)
				tables := Output{FS: hdfsio.Local{}, Dir: out}.Tables(j, plans)
				resume := &Resume{Done: &done, Checkpoint: c, Name: "job"}
				testcheck.Must(t, resume.KeepWritten(t.Context(), tables))
				return k.BuildTables(t.Context(), tables, w, 0, resume)
			}
			_, err := attempt(&stopping{noCheckpoint{&done}, stop})
			if ended = err == nil; !ended && !errors.Is(err, errStopped) {
				t.Fatalf("stopped at %d: %v", stop, err)
			}
			if _, err := attempt(&stopping{noCheckpoint{&done}, stop / 2}); err != nil && !errors.Is(err, errStopped) {
				t.Fatalf("stopped at %d again: %v", stop, err)
			}
			m, err := attempt(noCheckpoint{&done})
			testcheck.Must(t, err)
			in.check(t, w, m)
			if t.Failed() || stop > 40 {
				t.Fatalf("stopped at %d", stop)
			}
			// a missing file is created again
			testcheck.Must(t, os.Remove(w.FilteredFile))
			testcheck.Must(t, os.Remove(w.DuplicatesFile))
			m, err = attempt(noCheckpoint{&done})
			testcheck.Must(t, err)
			in.check(t, w, m)
		}
	}
}

// TestFilesAreLoadedAgain builds from each file, one format at a time: the result has exactly the rows of its records.
func TestFilesAreLoadedAgain(t *testing.T) {
	in := newLeftInput(t, testcheck.Rand(t), 200, 60, "first")
	in.spec.Tables = nil
	w := leftFiles(t.TempDir(), WorkOptions{})
	build := func(inputs []string, format, filter string) []string {
		s := in.spec
		s.Inputs, s.Format, s.Filter = inputs, format, filter
		cells, _, err := buildCells(t, s)
		testcheck.Must(t, err)
		return cells
	}
	_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, in.spec), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), w)
	testcheck.Must(t, err)
	for name, lost := range map[string][]leftLine{w.FilteredFile: in.filtered(), w.DuplicatesFile: in.duplicates(leftRecord.first)} {
		for _, path := range in.spec.Inputs {
			lines, _ := os.ReadFile(name)
			var form, own, plain bytes.Buffer // the file, except for other inputs, and its original records
			for line := range bytes.Lines(lines) {
				if bytes.HasPrefix(line, []byte(rejects.Magic)) {
					form.Reset()
					form.Write(line)
				} else if bytes.HasPrefix(line, []byte(`{"path":"`+path+`"`)) {
					if own.Len() == 0 {
						own.Write(form.Bytes())
					}
					own.Write(line)
				}
			}
			extension := ".jsonl"
			if !strings.HasSuffix(path, extension) {
				extension = ".csv"
				plain.WriteString("id,v,x\n")
			}
			for _, l := range lost {
				if l.Path == path {
					plain.WriteString(l.Raw + "\n")
				}
			}
			again := build([]string{writeInput(t, "again.jsonl", own.String())}, "rejects", "")
			if want := build([]string{writeInput(t, "plain"+extension, plain.String())}, "", ""); !slices.Equal(again, want) || len(want) == 0 {
				t.Errorf("%s of %s: %d cells, want %d", filepath.Base(name), filepath.Base(path), len(again), len(want))
			}
		}
	}
}
