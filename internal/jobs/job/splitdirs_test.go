package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// TestPartsOfNothing checks that an allowed empty input has no directory that fails, and none that was done before.
func TestPartsOfNothing(t *testing.T) {
	s := jobtest.Spec(t, "check")
	s.Inputs, s.AllowEmpty = []string{t.TempDir()}, true
	r, err := RunParts(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: filepath.Join(t.TempDir(), "state")}})
	if fail.KindOf(err) != fail.Config || r == nil || len(r.Parts) != 0 { // no cluster is configured
		t.Errorf("%+v, %v", r, err)
	}
	r, err = RunParts(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), RunOptions{})
	if err != nil || r == nil || r.Already {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTotals checks that the totals of directories are those of all that are done, and that the result has those of this run's alone too.
func TestTotals(t *testing.T) {
	loaded := func(rows int64) *result.Result {
		m := manifest.Manifest{Schema: 1, Records: rows, Digest: manifest.Digest{Rows: rows}}
		return &result.Result{Table: "t", Manifest: &m, Tables: []result.Table{{Table: "u", Manifest: &m}}}
	}
	done, already, failed := result.PartDone, result.PartAlready, result.PartFailed
	for _, c := range []struct {
		parts []result.PartStatus
		all   int64 // rows
		own   string
	}{
		{[]result.PartStatus{done, done}, 3, "none"},
		{[]result.PartStatus{already, already}, 3, "none"},
		{[]result.PartStatus{already, done}, 3, "2 rows, 2 of u"},
		{[]result.PartStatus{done, already, failed}, 3, "1 rows, 1 of u"},
		{[]result.PartStatus{already, failed}, 1, "no manifest"},
	} {
		p := &parts{result: &result.Result{Parts: make([]result.Part, len(c.parts))}}
		for i, s := range c.parts {
			p.result.Parts[i].Status = s
			p.results = append(p.results, nil)
			if s != failed {
				p.results[i] = loaded(1 << i)
			}
		}
		p.total()
		own := "none"
		if now := p.result.Now; now != nil && now.Manifest == nil {
			own = "no manifest"
		} else if now != nil {
			own = fmt.Sprintf("%d rows, %d of %s", now.Manifest.Digest.Rows, now.Tables[0].Manifest.Digest.Rows, now.Tables[0].Table)
		}
		if all := p.result.Manifest.Digest.Rows; all != c.all || own != c.own || p.result.Tables[0].Manifest.Digest.Rows != c.all {
			t.Errorf("%v: %d rows, and of this run: %s", c.parts, all, own)
		}
	}
}

// TestFailedPart checks that a directory at which a run ended names its job, unless that was refused before it did anything.
func TestFailedPart(t *testing.T) {
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{t.TempDir()}
	p := newParts(jobtest.Env(t), jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}, []source.Directory{{Path: s.Inputs[0]}})
	p.cluster = "c"
	part := &p.result.Parts[0]
	if p.failed(t.Context(), 0, nil, os.ErrInvalid, 0); part.Job != "" || part.Status != result.PartFailed {
		t.Errorf("refused: %+v", part)
	}
	dir, err := p.stateDir(0)
	testcheck.Must(t, err)
	testcheck.Must(t, os.Mkdir(dir, 0o700))
	if p.failed(t.Context(), 0, nil, os.ErrInvalid, 0); part.Job != dir {
		t.Errorf("begun: %+v, want %s", part, dir)
	}
}

// TestSnapshotOfNewParts checks that the first directory that is to be loaded takes the snapshot, also if earlier runs have loaded those before it, and
// that none takes it if an earlier attempt has. The result names the snapshot of this run, not that of an earlier one.
func TestSnapshotOfNewParts(t *testing.T) {
	export := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		testcheck.Must(t, os.Mkdir(filepath.Join(export, name), 0o700))
		testcheck.Must(t, os.WriteFile(filepath.Join(export, name, "x.csv"), []byte("1\n"), 0o600))
	}
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{export}
	env := jobtest.Env(t)
	dirs, err := directories(t.Context(), env, jobtest.Resolve(t, s))
	testcheck.Must(t, err)
	for name, c := range map[string]struct {
		done  int    // parts that earlier runs have loaded
		taken string // snapshot of the unfinished job of the last part
		want  int    // part that takes the snapshot; -1: none
	}{
		"all are new":                       {0, "", 0},
		"the first one was done before":     {1, "", 1},
		"of an earlier attempt":             {1, "night2", -1},
		"of an attempt with another name":   {1, "other", 1},
		"nothing is left":                   {3, "", -1},
		"nothing is left, and it was taken": {3, "night2", -1},
	} {
		p := newParts(env, jobtest.Resolve(t, s), RunOptions{Snapshot: "night2", State: checkpoint.Options{Dir: t.TempDir()}}, dirs)
		if c.taken != "" {
			id, err := checkpoint.Identify(env, p.partSpec(2), "")
			testcheck.Must(t, err)
			st, err := checkpoint.Open(t.Context(), nil, id.On(""), p.options.State, progress.Events{})
			testcheck.Must(t, err)
			testcheck.Must(t, st.Record(history.EventSnapshot, history.SnapshotRecord{Snapshot: c.taken}))
			testcheck.Must(t, st.Close())
		}
		known, _, err := p.doneBefore()
		testcheck.Must(t, err)
		for i := range c.done {
			known[i] = &result.Result{Snapshot: "night1"}
		}
		p.chooseSnapshot(known)
		for i := range dirs {
			if takes := p.partOptions(i).Snapshot != ""; takes != (i == c.want) {
				t.Errorf("%s: part %d takes the snapshot: %t", name, i, takes)
			}
			status := result.PartAlready
			if p.results[i] = known[i]; known[i] == nil {
				p.results[i], status = &result.Result{Snapshot: p.partOptions(i).Snapshot}, result.PartDone
			}
			p.result.Parts[i].Status = status
		}
		want := ""
		if c.want >= 0 {
			want = "night2"
		}
		if p.total(); p.result.Snapshot != want {
			t.Errorf("%s: the result names snapshot %q, want %q", name, p.result.Snapshot, want)
		}
	}
}

// TestFilesOfDirectories checks that two directories never have the same file of records, that only those whose names become equal get other names, and
// that these do not depend on how many they are.
func TestFilesOfDirectories(t *testing.T) {
	long := strings.Repeat("/deep", 30) + "/d"
	all := []source.Directory{{Path: "/e/2024/01", Name: "/e/2024/01"}, {Path: "/e/2024_01", Name: "/e/2024_01"}, {Path: "hdfs://a/exp/d1", Name: "/exp/d1"}, {Path: "hdfs://b/exp/d1", Name: "/exp/d1"},
		{Path: "/a" + long, Name: "/a" + long}, {Path: "/b" + long, Name: "/b" + long}, {Path: "/e/x_y", Name: "/e/x_y"}}
	o := RunOptions{}
	o.RejectFile, o.FilteredFile, o.DuplicatesFile = "r.jsonl", "f.jsonl", "d.jsonl"
	names := func(dirs []source.Directory) []string {
		p := newParts(jobtest.Env(t), jobtest.Resolve(t, jobtest.CSVSpec("/e")), o, dirs)
		var names []string
		for i := range dirs {
			o := p.partOptions(i)
			names = append(names, o.RejectFile)
			if rest := strings.TrimPrefix(o.RejectFile, "r."); o.FilteredFile != "f."+rest || o.DuplicatesFile != "d."+rest || len(o.RejectFile) > 200 {
				t.Errorf("%s: %s, %s, %s", dirs[i].Path, o.RejectFile, o.FilteredFile, o.DuplicatesFile)
			}
		}
		return names
	}
	got := names(all)
	if sorted := slices.Sorted(slices.Values(got)); len(slices.Compact(sorted)) != len(all) {
		t.Errorf("two directories have one file: %q", got)
	}
	if got[6] != "r.e_x_y.jsonl" || !strings.HasPrefix(got[0], "r.e_2024_01.") {
		t.Errorf("names are %q", got)
	}
	if again := names(all[:4]); !slices.Equal(again, got[:4]) {
		t.Errorf("of four directories: %q, of all: %q", again, got)
	}
}
