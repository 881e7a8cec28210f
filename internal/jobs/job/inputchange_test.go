package job

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// smallCSV returns n records of a key and a value, all of the same length.
func smallCSV(n int, value string) []byte {
	var b bytes.Buffer
	b.WriteString("id,v\n")
	for i := range n {
		fmt.Fprintf(&b, "%06d,%s\n", i, value)
	}
	return b.Bytes()
}

// rewriteInPlace changes a file's content, keeps its inode and size, and restores its modification time.
func rewriteInPlace(t *testing.T, name string, change func([]byte)) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	change(data)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// TestChangingInputIsRefused changes the inputs of a build while it runs.
func TestChangingInputIsRefused(t *testing.T) {
	const n = 3000
	edit := func(t *testing.T, dir string) {
		rewriteInPlace(t, filepath.Join(dir, "a.csv"), func(b []byte) { copy(b[len(b)-4:], "yyy\n") })
	}
	grow := func(t *testing.T, dir string) {
		f, err := os.OpenFile(filepath.Join(dir, "a.csv"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("999999,xxx\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(t *testing.T, dir string) {
		name := filepath.Join(dir, "a.csv")
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+"~", smallCSV(n, "zzz"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name+"~", time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+"~", name); err != nil {
			t.Fatal(err)
		}
	}
	add := func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, "b.csv"), smallCSV(1, "late"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, "a.csv")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		phase string // the input changes at the begin of this phase
		do    func(*testing.T, string)
		glob  bool
		say   []string
	}{
		"grown before it is read":            {"read", grow, false, []string{"a.csv", "size"}},
		"grown after it was read":            {"sort", grow, false, []string{"a.csv", "size"}},
		"grown while files are written":      {"write", grow, false, []string{"a.csv", "size"}},
		"replaced before it is read":         {"read", replace, false, []string{"a.csv", "inode"}},
		"replaced after it was read":         {"sort", replace, false, []string{"a.csv", "inode"}},
		"edited before it is read":           {"read", edit, false, []string{"a.csv", "ctime"}},
		"edited after it was read":           {"write", edit, false, []string{"a.csv", "ctime"}},
		"a new file of a directory":          {"sort", add, false, []string{"b.csv", "new"}},
		"a new file of a pattern":            {"sort", add, true, []string{"b.csv", "new"}},
		"a file of a directory that is gone": {"sort", remove, false, []string{"a.csv", "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range []string{"a.csv", "c.csv"} {
				data := smallCSV(n, "xxx")
				if f == "c.csv" {
					data = bytes.ReplaceAll(data, []byte("\n0"), []byte("\n1"))
				}
				if err := os.WriteFile(filepath.Join(dir, f), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := jobtest.CSVSpec(dir)
			if c.glob {
				s = jobtest.CSVSpec(dir + "/*.csv")
			}
			out := filepath.Join(t.TempDir(), "out")
			_, err := build.Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, out, build.WorkOptions{Workers: 1, Events: progress.Events{OnPhase: func(phase string) {
				if phase == c.phase {
					c.do(t, dir)
				}
			}}})
			if fail.KindOf(err) != fail.Input {
				t.Fatalf("error is %v", err)
			}
			for _, say := range c.say {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("error %q does not say %q", err, say)
				}
			}
			if _, err := manifest.Read(t.Context(), hdfsio.Local{}, out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a manifest is there, or cannot be read: %v", err)
			}
		})
	}
}

// TestResumeComparesChecksums changes the input between two attempts. The second reads it again.
func TestResumeComparesChecksums(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	st := b.stopped(3)
	if err := os.RemoveAll(st.Spill); err != nil {
		t.Fatal(err)
	}
	rewriteInPlace(t, b.spec.Inputs[0], func(data []byte) {
		i := bytes.Index(data, []byte("拒绝")) // in a value: the key and the region stay the same
		copy(data[i:], "通过")
	})
	_, st, err := b.attempt(0)
	if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), b.spec.Inputs[0]) {
		t.Errorf("error is %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestResumeNoticesChangesByThePlan checks that inputs that a resume does not read again are compared with the plan.
func TestResumeNoticesChangesByThePlan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(name, smallCSV(10, "xxx"), 0o600); err != nil {
		t.Fatal(err)
	}
	env, s := jobtest.Env(t), jobtest.CSVSpec(name)
	record := func() history.PlanRecord {
		k, err := build.OpenInput(t.Context(), env.Source, jobtest.Resolve(t, s), build.WorkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		j := &run{env: env, spec: jobtest.Resolve(t, s), job: &checkpoint.Job{}, input: k}
		p, err := j.planRecord(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	old := record()
	if err := old.Same(record()); err != nil {
		t.Fatal(err)
	}
	rewriteInPlace(t, name, func(b []byte) { copy(b[len(b)-4:], "yyy\n") })
	if err := old.Same(record()); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), name) {
		t.Errorf("edited with its time restored: error is %v", err)
	}
}

// unchecked returns the text of a journal without its checksums, as version 0.1 wrote it.
func unchecked(journal []byte) []byte {
	return regexp.MustCompile(`,"check":"[0-9a-f]{8}"}`).ReplaceAll(journal, []byte("}"))
}

// TestRecordsMustBalance resumes a build whose journal has more records than rows.
func TestRecordsMustBalance(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	st := b.stopped(3)
	journal := filepath.Join(st.Dir, "journal.jsonl")
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.ReplaceAll(unchecked(data), []byte(`"records":30000,`), []byte(`"records":30001,`))
	if bytes.Equal(changed, unchecked(data)) {
		t.Fatal("no totals in the journal")
	}
	if err := os.WriteFile(journal, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, st, err = b.attempt(0)
	if err == nil || !strings.Contains(err.Error(), "30001 records") || !strings.Contains(err.Error(), "nothing was loaded") {
		t.Errorf("error is %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordsWithoutCellsBalance checks the counts of records that are left out, by reason.
func TestRecordsWithoutCellsBalance(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(name, []byte("id,v\n1,a\n2,\n3,c\n3,d\nbad\n9,\n9,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	column := "v"
	s := jobtest.CSVSpec(name)
	s.Duplicates, s.BadRecords, s.Cells = "first", "4", []spec.CellSpec{{Column: column}}
	m, err := build.Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), filepath.Join(dir, "out"), build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Records != 7 || m.Rejected != 4 || m.Duplicates != 1 || m.NoCells != 0 || m.Digest.Rows != 2 {
		t.Errorf("%+v", m.Summary())
	}
}

// TestInputsWithoutRowsAreRefused checks that inputs without rows are refused, unless they are allowed: then the build
// has no rows.
func TestInputsWithoutRowsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		spec    func(*spec.Spec)
		say     string
	}{
		"an empty file":         {"", nil, "it is an empty file"},
		"a header alone":        {"id,v\n", nil, "the input has no records"},
		"a header, blank lines": {"id,v\n\n\n", nil, "the input has no records"},
		"bad records alone":     {"id,v\n1\n2\n", func(s *spec.Spec) { s.BadRecords = "100%" }, "all records of the input (2) are bad"},
		"no cells":              {"id,v\n1,\n2,\n", func(s *spec.Spec) { s.Cells, s.BadRecords = []spec.CellSpec{{Column: "v"}}, "2" }, "all records of the input (2) are bad"},
	} {
		t.Run(name, func(t *testing.T) {
			s := jobtest.CSVSpec(filepath.Join(t.TempDir(), "a.csv"))
			s.Columns = []string{"id", "v"}
			if c.spec != nil {
				c.spec(&s)
			}
			if err := os.WriteFile(s.Inputs[0], []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			_, err := build.Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, out, build.WorkOptions{})
			if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), "`allow_empty`") {
				t.Errorf("error is %v", err)
			}
			s.AllowEmpty = true
			m, err := build.Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, out, build.WorkOptions{})
			if err != nil || m.Digest.Rows != 0 || m.HFiles != 0 {
				t.Errorf("allowed: %+v, %v", m, err)
			}
		})
	}
}

// TestOldJournalsAreNotCompared checks that fields that they did not record are not compared.
func TestOldJournalsAreNotCompared(t *testing.T) {
	at := time.Unix(1700000000, 5)
	now := history.InputRecord{Input: "a", Size: 1, Time: at, FileID: 7, Change: at}
	for name, c := range map[string]struct {
		was  history.InputRecord
		same bool
	}{
		"the same":      {now, true},
		"an old record": {history.InputRecord{Input: "a", Size: 1, Time: at}, true},
		"another size":  {history.InputRecord{Input: "a", Size: 2, Time: at}, false},
		"a nanosecond":  {history.InputRecord{Input: "a", Size: 1, Time: at.Add(1), FileID: 7, Change: at}, false},
		"another inode": {history.InputRecord{Input: "a", Size: 1, Time: at, FileID: 8, Change: at}, false},
		"another ctime": {history.InputRecord{Input: "a", Size: 1, Time: at, FileID: 7, Change: at.Add(1)}, false},
	} {
		if got := c.was.Differs(now); (got == "") != c.same {
			t.Errorf("%s: %q", name, got)
		}
	}
	// A build resumes from a journal without checksums and counts.
	b := newResumedBuild(t, spillingSpec(t))
	st := b.stopped(3)
	name := filepath.Join(st.Dir, "journal.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`,"sums":\[[^]]*\]`).ReplaceAll(unchecked(data), nil)
	old = regexp.MustCompile(`("duplicates":[0-9]+),"records":[0-9]+`).ReplaceAll(old, []byte("$1"))
	if bytes.Equal(old, unchecked(data)) || bytes.Contains(old, []byte("sums")) {
		t.Fatal("nothing was taken out of the journal")
	}
	if err := os.WriteFile(name, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(st.Spill); err != nil {
		t.Fatal(err)
	}
	b.ended()
}

// TestJournalHasASumOfEachSplit checks that the sums have eight digits, and are read back equal.
func TestJournalHasASumOfEachSplit(t *testing.T) {
	s := build.SplitSums{0, 1, 0xdeadbeef}
	b, err := s.MarshalJSON()
	if err != nil || string(b) != `["00000000","00000001","deadbeef"]` {
		t.Fatal(string(b), err)
	}
	var again build.SplitSums
	if err := again.UnmarshalJSON(b); err != nil || !slices.Equal(again, s) {
		t.Error(again, err)
	}
	for _, bad := range []string{`["1"]`, `["0000000000"]`, `["zzzzzzzz"]`, `[1]`} {
		if err := again.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	build := newResumedBuild(t, spillingSpec(t))
	st := build.stopped(1)
	if len(st.Sorted.Sums) == 0 || slices.Contains(st.Sorted.Sums, 0) {
		t.Errorf("the sums are %x", st.Sorted.Sums)
	}
}
