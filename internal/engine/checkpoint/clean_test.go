package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

// writeJournal creates a job's state directory whose last record has the given age.
func writeJournal(t testing.TB, state, name string, age time.Duration, records ...string) string {
	t.Helper()
	dir := filepath.Join(state, name)
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"journal.jsonl": journalText(age, records...), "lock": "pid 1 on nowhere\n", "runs/1": "0123456789"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func journalText(age time.Duration, records ...string) string {
	var b strings.Builder
	for i, r := range records {
		when := time.Now().Add(-age + time.Duration(i-len(records))*time.Second).UTC().Format(time.RFC3339Nano)
		fmt.Fprintf(&b, `{"seq":%d,"time":%q,%s}`+"\n", i+1, when, r)
	}
	return b.String()
}

const (
	sendingTwo = `"event":"sending","groups":[{"region":"ab","server":"rs:1","files":[{"path":"hdfs://nn/s/f/aa"},{"path":"hdfs://nn/s/f/bb"}]}]`
	loadedOne  = `"event":"loaded","region":"ab","files":[{"path":"hdfs://nn/s/f/aa"}]`
	loadedTwo  = `"event":"loaded","region":"ab","files":[{"path":"hdfs://nn/s/f/bb"}]`
	fencing    = `"event":"fencing","file":{"path":"hdfs://nn/s/f/bb"},"to":"hdfs://nn/s/f/bb.r1"`
	fenced     = `"event":"fenced","file":{"path":"hdfs://nn/s/f/bb.r1"},"from":"hdfs://nn/s/f/bb"`
	fenced01   = `"event":"fenced","file":{"path":"hdfs://nn/s/f/bb.r1"},"to":"hdfs://nn/s/f/bb"` // as written by version 0.1
)

// TestTrace checks the statuses of jobs according to their journals.
func TestTrace(t *testing.T) {
	plan := `"event":"plan","job":"0123456789abcdef","table":"ns:t","staging":"hdfs://nn/tmp/s"`
	for _, c := range []struct {
		name       string
		records    []string
		status     history.Status
		unresolved int
	}{
		{"planned", []string{plan}, history.JobAbandoned, 0},
		{"sent", []string{plan, sendingTwo}, history.JobUnresolved, 2},
		{"sent, one loaded", []string{plan, sendingTwo, loadedOne}, history.JobUnresolved, 1},
		{"all loaded", []string{plan, sendingTwo, loadedOne, loadedTwo}, history.JobAbandoned, 0},
		{"returned", []string{plan, sendingTwo, loadedOne, `"event":"returned","files":[{"path":"hdfs://nn/s/f/bb"}]`}, history.JobAbandoned, 0},
		{"unknown", []string{plan, sendingTwo, loadedOne, `"event":"unknown","files":[{"path":"hdfs://nn/s/f/bb"}]`}, history.JobUnresolved, 1},
		{"being fenced", []string{plan, sendingTwo, loadedOne, fencing}, history.JobUnresolved, 1},
		{"fenced", []string{plan, sendingTwo, loadedOne, fencing, fenced}, history.JobAbandoned, 0},
		{"fenced by version 0.1", []string{plan, sendingTwo, loadedOne, fencing, fenced01}, history.JobAbandoned, 0},
		{"sent again", []string{plan, sendingTwo, loadedOne, fenced, `"event":"sending","groups":[{"files":[{"path":"hdfs://nn/s/f/bb.r1"}]}]`}, history.JobUnresolved, 1},
		{"sent in a form that is not known", []string{plan, `"event":"sending","what":1`}, history.JobUnknown, 0},
		{"sent in another form", []string{plan, `"event":"sending","groups":[{"files":["f/bb"]}]`}, history.JobUnknown, 0},
		{"done", []string{plan, sendingTwo, loadedOne, loadedTwo, `"event":"verified"`, `"event":"done"`}, history.JobDone, 0},
		{"events that are not known", []string{plan, `"event":"sung","files":["f/bb"]`}, history.JobAbandoned, 0},
		{"failed", []string{plan, `"event":"failed","error":"no"`}, history.JobAbandoned, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := journalText(time.Hour, c.records...)
			got, err := traceOf(t, text+`{"seq":99,"event":"sen`) // torn
			if err != nil {
				t.Fatal(err)
			}
			if got.Status() != c.status || len(got.Unresolved()) != c.unresolved || got.ID() != "0123456789ab" || got.Planned().Table != "ns:t" || got.Planned().Staging != "hdfs://nn/tmp/s" {
				t.Errorf("%s, %+v; want %s with %d files", got.Status(), got, c.status, c.unresolved)
			}
			if age := time.Since(got.Last); age < time.Hour || age > 2*time.Hour {
				t.Errorf("last record %s ago", age)
			}
		})
	}
	broken, err := traceOf(t, "{\"seq\":1,"+plan+"}\nnonsense\n{\"seq\":2}\n")
	if err != nil || broken.Broken == nil || !strings.Contains(broken.Broken.Error(), "journal.jsonl: line 2") || broken.Planned().Table != "ns:t" {
		t.Errorf("a broken journal: %v, %+v", err, broken)
	}
	testcheck.Check(t, func(rt *rapid.T) { // any text must be harmless
		_, _ = traceOf(t, rapid.String().Draw(rt, "journal")+"\n")
	})
}

// traceOf returns the trace of a journal with the given text.
func traceOf(t *testing.T, text string) (*status.Trace, error) {
	t.Helper()
	dir := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, journal.FileName), []byte(text), 0o600))
	return status.ReadTrace(dir)
}

// leftovers describes the result of a cleaning: a few words for each directory.
func leftovers(c *Cleaning) []string {
	var lines []string
	for _, d := range c.Dirs {
		act := "keep"
		if d.Remove {
			act = "remove"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s", act, d.Kind, d.Status, filepath.Base(d.Path)))
	}
	slices.Sort(lines)
	return lines
}

// TestCleanStates checks that running, young and unresolved jobs are kept, and
// directories that are not a job's.
func TestCleanStates(t *testing.T) {
	day := 24 * time.Hour
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	make := func(t *testing.T) string {
		state := t.TempDir()
		plan := `"event":"plan","table":"t"`
		writeJournal(t, state, "t-000000000001", 30*day, plan, `"event":"done"`)
		writeJournal(t, state, "t-000000000002", 30*day, plan)
		writeJournal(t, state, "t-000000000003", 30*day, plan, sendingTwo)
		writeJournal(t, state, "t-000000000004", time.Hour, plan)
		writeJournal(t, state, "t-000000000005", 30*day, plan)
		writeJournal(t, state, "others", 30*day, plan)
		if err := os.MkdirAll(filepath.Join(state, "t-000000000006"), 0o755); err != nil { // no journal
			t.Fatal(err)
		}
		lock, err := journal.TryLock(filepath.Join(state, "t-000000000005"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Release() })
		return state
	}
	for _, c := range []struct {
		name string
		o    CleanOptions
		want string
		left string // last digits of the jobs that remain
	}{
		{"dry", CleanOptions{}, "keep abandoned 4, keep running 5, keep unresolved 3, remove abandoned 2, remove done 1", "123456"},
		{"removed", CleanOptions{Remove: true}, "keep abandoned 4, keep running 5, keep unresolved 3, remove abandoned 2, remove done 1", "3456"},
		{"forced", CleanOptions{Remove: true, Force: true}, "keep abandoned 4, keep running 5, remove abandoned 2, remove done 1, remove unresolved 3", "456"},
		{"of any age", CleanOptions{Remove: true, OlderThan: 1}, "keep running 5, keep unresolved 3, remove abandoned 2, remove abandoned 4, remove done 1", "356"},
		{"older", CleanOptions{Remove: true, OlderThan: 60 * day}, "keep abandoned 2, keep abandoned 4, keep done 1, keep running 5, keep unresolved 3", "123456"},
		{"one by its digits", CleanOptions{Remove: true, Job: "000000000004"}, "remove abandoned 4", "12356"},
		{"one by its name", CleanOptions{Remove: true, Job: "t-000000000004"}, "remove abandoned 4", "12356"},
		{"one that runs", CleanOptions{Remove: true, Force: true, Job: "000000000005"}, "keep running 5", "123456"},
		{"none", CleanOptions{Remove: true, Job: "4"}, "", "123456"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.State = make(t)
			got, err := Clean(t.Context(), env, c.o)
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "fs.defaultFS") { // there is no HDFS here
				t.Errorf("HDFS: %v", err)
			}
			var lines []string
			for _, line := range leftovers(got) {
				f := strings.Fields(line)
				lines = append(lines, f[0]+" "+f[2]+" "+strings.TrimPrefix(f[3], "t-00000000000"))
			}
			if s := strings.Join(lines, ", "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			list, err := os.ReadDir(c.o.State)
			if err != nil {
				t.Fatal(err)
			}
			left := ""
			for _, d := range list {
				if d.Name() != "others" {
					left += d.Name()[len(d.Name())-1:]
				}
			}
			if left != c.left || len(list) != len(left)+1 {
				t.Errorf("left are %s of %d, want %s", left, len(list), c.left)
			}
			for _, d := range got.Dirs {
				if d.Status != history.JobRunning && d.Bytes < 100 || d.Because.IsZero() || d.Table != "t" {
					t.Errorf("%+v", d)
				}
				if d.Status == history.JobRunning && !strings.HasPrefix(d.Because.String(), fmt.Sprintf("it is running: process %d on ", os.Getpid())) {
					t.Errorf("%+v", d)
				}
			}
		})
	}
}

// TestCleanLocksOfDirectories checks that locks of runs with a job for each directory are removed like finished jobs: by age, and not while a run
// holds them.
func TestCleanLocksOfDirectories(t *testing.T) {
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	state := t.TempDir()
	dir := func(name string, age time.Duration) string {
		dir := filepath.Join(state, LocksDir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := journal.TryLock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if name == "t-000000000003" {
			t.Cleanup(func() { lock.Release() })
		} else if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, young, held := dir("t-000000000001", 30*24*time.Hour), dir("t-000000000002", time.Hour), dir("t-000000000003", 30*24*time.Hour)
	got, _ := Clean(t.Context(), env, CleanOptions{State: state, Remove: true}) // there is no HDFS here
	if exists(old) || !exists(young) || !exists(held) || len(got.Dirs) != 3 || got.Dirs[0].Status != history.JobDone || got.Dirs[2].Status != history.JobRunning {
		t.Errorf("old %v, young %v, held %v: %+v", exists(old), exists(young), exists(held), got.Dirs)
	}
}

// TestCleanKeepsJobsWhoseJournalTellsNothing checks that an empty, torn or damaged journal leaves the outcome of sent files unknown, and that the
// job's age is then the file's.
func TestCleanKeepsJobsWhoseJournalTellsNothing(t *testing.T) {
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	plan := `{"seq":1,"time":"2020-01-01T00:00:00Z","event":"plan","table":"t"}` + "\n"
	for name, text := range map[string]string{
		"emptied": "", "torn": strings.TrimSpace(plan), "damaged": plan + "nonsense\n" + plan, "zeros": "\x00\x00\x00\n", "blank": "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			dir := writeJournal(t, state, "t-000000000001", time.Hour)
			file := filepath.Join(dir, journal.FileName)
			old := time.Now().Add(-30 * 24 * time.Hour)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
			for _, o := range []CleanOptions{{State: state, Remove: true}, {State: state, Remove: true, Job: "t-000000000001"}} {
				got, _ := Clean(t.Context(), env, o) // there is no HDFS here
				if len(got.Dirs) != 1 || got.Dirs[0].Status != history.JobUnknown || got.Dirs[0].Remove || !strings.Contains(got.Dirs[0].Because.String(), "its outcome is unknown") {
					t.Fatalf("%+v", got.Dirs)
				}
				if last := got.Dirs[0].Last; name != "damaged" && !last.Equal(old.Truncate(0)) && time.Since(last) > 40*24*time.Hour {
					t.Errorf("last %s, want %s", last, old)
				}
			}
			if _, err := os.Stat(file); err != nil {
				t.Fatal(err)
			}
			const advice = "(bulkload clean `job` t-000000000001 `force` discards the job's state, and may lose rows)"
			if name == "damaged" {
				if _, err := OpenDir(t.Context(), env, dir, 0, progress.Events{}); err == nil || !strings.HasSuffix(err.Error(), advice) {
					t.Errorf("a command that reads it: %v, want %s", err, advice)
				}
			}
			got, _ := Clean(t.Context(), env, CleanOptions{State: state, Remove: true, Force: true})
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("--force leaves it: %+v", got.Dirs)
			}
		})
	}
}

// TestCleanEndsYARN checks that the YARN job of a removed job is ended first, and that one that cannot be ended keeps the job, unless it is forced.
func TestCleanEndsYARN(t *testing.T) {
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		remove, force bool
		end           error
		ended, there  bool
	}{
		"listed":     {there: true},
		"removed":    {remove: true, ended: true},
		"no answer":  {remove: true, end: errors.New("no answer"), ended: true, there: true},
		"nobody":     {remove: true, end: errors.ErrUnsupported, there: true},
		"not waited": {remove: true, force: true, end: errors.New("no answer"), ended: true},
	} {
		state, ended := t.TempDir(), []string(nil)
		dir := writeJournal(t, state, "t-000000000001", 30*24*time.Hour, `"event":"plan","table":"t"`, `"event":"submitting","tag":"one"`, `"event":"ended","tag":"one"`, `"event":"submitting","tag":"two"`)
		o := CleanOptions{State: state, Remove: c.remove, Force: c.force}
		if !errors.Is(c.end, errors.ErrUnsupported) {
			o.EndYARN = func(_ context.Context, tag string) error {
				if !exists(dir) {
					t.Errorf("%s: the job goes before its application", name)
				}
				ended = append(ended, tag)
				return c.end
			}
		}
		got, err := Clean(t.Context(), env, o)
		if exists(dir) != c.there || c.ended != slices.Equal(ended, []string{"two"}) || len(got.Dirs) != 1 || got.Dirs[0].Remove == (c.there && c.remove) {
			t.Errorf("%s: ended %q, %+v, %v", name, ended, got.Dirs, err)
		}
	}
}

// TestCleanStaging checks that directories on HDFS are removed together with their
// jobs, those without a job when they are old, and nothing else.
func TestCleanStaging(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	ctx := t.Context()
	fsys := jobtest.UserFS(t, cluster, "tina")
	put := func(name, text string) {
		t.Helper()
		if err := fsys.MkdirAll(ctx, filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		w, err := fsys.Create(ctx, name, hdfsio.CreateOptions{})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err == nil {
			err = w.Finish()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	day := 24 * time.Hour
	for _, remove := range []bool{false, true} {
		base := "/tmp/clean-test-" + testcheck.Name(t)
		t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), base) })
		state := t.TempDir()
		staged := func(n int) string { return fmt.Sprintf("%s/ns_t-170000000000%d-000000000000000%d", base, n, n) }
		plan := func(n int) string {
			return fmt.Sprintf(`"event":"plan","job":"00000000000%d","table":"ns:t","staging":"hdfs://%s"`, n, staged(n))
		}
		for n := 1; n <= 6; n++ {
			put(staged(n)+"/f/aa", "0123456789")
		}
		put(base+"/others/file", "x")
		put(base+"/"+staging.ProbePrefix+"0000000000000001/file", "x")
		writeJournal(t, state, "ns_t-000000000001", 30*day, plan(1), `"event":"done"`)
		writeJournal(t, state, "ns_t-000000000002", time.Hour, plan(2))
		writeJournal(t, state, "ns_t-000000000003", 30*day, plan(3), sendingTwo)
		writeJournal(t, state, "ns_t-000000000007", 30*day, `"event":"plan","staging":"hdfs:///tmp"`) // not a job's staging directory
		put(staged(5)+"/_journal.jsonl", journalText(time.Hour, plan(5), sendingTwo))
		put(staged(6)+"/_journal.jsonl", journalText(time.Hour, plan(6)))

		got, err := Clean(ctx, env, CleanOptions{State: state, Staging: base, Remove: remove, OlderThan: 7 * day})
		if err == nil || !strings.Contains(err.Error(), "hdfs:///tmp, which is not a staging directory") {
			t.Errorf("a journal that names a directory of others: %v", err)
		}
		want := []string{
			"keep staging abandoned ns_t-1700000000002-0000000000000002",
			"keep staging abandoned ns_t-1700000000006-0000000000000006", // its journal has ended within the hour
			"keep staging unknown _check-0000000000000001",
			"keep staging unknown ns_t-1700000000004-0000000000000004", // just written
			"keep staging unresolved ns_t-1700000000003-0000000000000003",
			"keep staging unresolved ns_t-1700000000005-0000000000000005",
			"keep state abandoned ns_t-000000000002",
			"keep state abandoned ns_t-000000000007",
			"keep state unresolved ns_t-000000000003",
			"remove staging done ns_t-1700000000001-0000000000000001",
			"remove state done ns_t-000000000001",
		}
		if lines := leftovers(got); !slices.Equal(lines, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		_, err = fsys.Stat(ctx, staged(1))
		if gone := err != nil; gone != remove {
			t.Errorf("the done job's directory is gone: %t, want %t", gone, remove)
		}
		// Of any age: all but unresolved jobs.
		got, _ = Clean(ctx, env, CleanOptions{State: state, Staging: base, Remove: remove, OlderThan: 1})
		if n := len(slices.DeleteFunc(leftovers(got), func(s string) bool { return strings.HasPrefix(s, "remove") })); n != 4 {
			t.Errorf("kept %d, want the 3 unresolved directories and the one with a strange journal: %q", n, leftovers(got))
		}
		if remove {
			var names []string
			for _, dir := range []string{base, "/tmp"} {
				list, err := fsys.ReadDir(ctx, dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range list {
					names = append(names, f.Name())
				}
			}
			for _, want := range []string{"others", filepath.Base(staged(3)), filepath.Base(staged(5)), filepath.Base(base)} {
				if !slices.Contains(names, want) {
					t.Errorf("%s was removed: there are %q", want, names)
				}
			}
			for _, gone := range []string{staged(2), staged(4), staged(6), staging.ProbePrefix + "0000000000000001"} {
				if slices.Contains(names, filepath.Base(gone)) {
					t.Errorf("%s is still there", gone)
				}
			}
		}
	}
}

// TestCleanHBaseStaging checks that directories that HBase has made for a job and its journal names are removed, unless they hold a file.
func TestCleanHBaseStaging(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	table := jobtest.FreshTable(t, env, 2, nil)
	name, err := loader.ParseTableName(table)
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fsys := jobtest.UserFS(t, cluster, "hbase")
	var tokens [3]string
	for i := range tokens {
		if tokens[i], err = c.Prepare(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	there := func(token string) bool {
		t.Helper()
		l, err := env.Conf.Resolve(token)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fsys.Stat(t.Context(), l.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	l, err := env.Conf.Resolve(tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	file := l.Join("f/0123").Path
	if err := fsys.MkdirAll(t.Context(), filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Create(t.Context(), file, hdfsio.CreateOptions{Perm: 0o666})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	dir := writeJournal(t, state, "ns_t-000000000001", time.Hour, `"event":"plan","table":"`+table+`"`, `"event":"checking","table":"`+table+`","token":"`+tokens[1]+`"`,
		`"event":"checking","table":"`+table+`","token":"`+tokens[1]+`","gone":true`, `"event":"prepared","token":"`+tokens[0]+`"`, `"event":"prepared","token":"`+tokens[2]+`"`)
	o := CleanOptions{State: state, Staging: "/tmp/nobody-has-this", Job: "ns_t-000000000001"}
	if got, err := Clean(t.Context(), env, o); err != nil || len(got.Dirs) != 3 || !there(tokens[0]) || !there(tokens[2]) {
		t.Errorf("a look: %q, %v", leftovers(got), err)
	}
	o.Remove = true
	got, err := Clean(t.Context(), env, o)
	if !errors.Is(err, loader.ErrStaged) || !there(tokens[0]) || there(tokens[2]) || !exists(dir) {
		t.Errorf("with a file in one: %q, %v", leftovers(got), err)
	}
	if err := fsys.Remove(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if got, err = Clean(t.Context(), env, o); err != nil || there(tokens[0]) || exists(dir) {
		t.Errorf("without one: %q, %v", leftovers(got), err)
	}
	if !there(tokens[1]) {
		t.Error("one that the journal calls gone is another's by now, and was removed")
	}
	if err := c.RemoveStaging(t.Context(), fsys, name, tokens[1]); err != nil || there(tokens[1]) {
		t.Error(err)
	}
}
