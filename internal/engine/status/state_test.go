package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
)

// stateFiles are the contents of a job's directory; at is the time of the first record.
type stateFiles struct {
	journal string // events, one per line; times are added, a second for each
	torn    string
	lock    string
	live    *Live
	ending  *Ending
}

func (s stateFiles) write(t testing.TB, at time.Time) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ns_t-0123456789ab")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(s.journal) {
		if line = strings.TrimSpace(line); line != "" {
			n++
			fmt.Fprintf(&b, "{\"seq\":%d,\"time\":%q,%s}\n", n, at.Add(time.Duration(n)*time.Second).Format(time.RFC3339Nano), line)
		}
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(journal.FileName, b.String()+s.torn)
	if s.lock != "" {
		put(journal.LockName, s.lock)
	}
	if s.live != nil {
		if err := s.live.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if s.ending != nil {
		text, err := json.Marshal(s.ending)
		if err != nil {
			t.Fatal(err)
		}
		put(EndingName, string(text))
	}
	return dir
}

const (
	planLine    = `"event":"plan","job":"0123456789abcdef","table":"ns:t","key":"id","splits":["3","6"],"inputs":[{"input":"/x.csv","size":77}]`
	builtLines  = `"event":"sorted"` + "\n" + `"event":"written","region":0,"rows":5,"bytes":100` + "\n" + `"event":"written","region":2,"rows":6,"bytes":150` + "\n" + `"event":"built","manifest":{"hfiles":2,"bytes":250,"digest":{"rows":11}}`
	loadedLines = `"event":"sending","groups":[{"region":"aa","server":"rs1","files":[{}]},{"region":"bb","server":"rs2","files":[{}]}]` + "\n" + `"event":"loaded","region":"aa","files":[{}]`
)

func attemptLine(n, pid int, host string) string {
	return fmt.Sprintf(`"event":"attempt","attempt":%d,"pid":%d,"host":%q`, n, pid, host)
}

// TestReadJob checks the states of directories that runs leave.
func TestReadJob(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour).UTC()
	me, nobody := os.Getpid(), 1<<22+12345 // above the largest pid
	signed := func(pid int, host string, since time.Time) string {
		return fmt.Sprintf("process %d on %s since %s\n", pid, host, since.UTC().Format(time.RFC3339))
	}
	now := time.Now()
	percent := 42.0
	live := func(pid int, host string, at time.Time) *Live {
		return &Live{Schema: 1, PID: pid, Host: host, Updated: at, Phase: "write", Percent: &percent,
			Progress: progress.Progress{Start: progress.Start{JobID: "night", Attempt: 1}, Phases: []progress.PhaseProgress{{Name: "write", Done: progress.Amount{Rows: 9}}}}}
	}
	for _, c := range []struct {
		name  string
		files stateFiles
		want  history.Status
		check func(*State) bool
	}{
		{"empty", stateFiles{}, history.JobUnknown, func(s *State) bool { return !s.Resumable }},
		{"done", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host) + "\n" + builtLines + "\n" + loadedLines + "\n" + `"event":"done","result":{"table":"ns:t"}`, lock: signed(me, host, now)},
			history.JobDone, func(s *State) bool {
				return s.Rows == 11 && s.HFiles == 2 && s.Bytes == 250 && s.Loaded == 1 && *s.Percent == 100 && *s.ExitCode == 0 && s.Regions == 3 && s.InBytes == 77 && s.Taken[0].Server == "rs1" && s.Attempts[0].State == history.JobDone
			}},
		{"done, and undone by another attempt", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host) + "\n" + builtLines + "\n" + loadedLines + "\n" + `"event":"done","result":{"table":"ns:t"}` + "\n" + attemptLine(2, me, host) + "\n" + `"event":"undoing","snapshot":"s","timestamp":5` + "\n" + `"event":"undone"`, lock: signed(me, host, now)},
			history.JobDone, func(s *State) bool {
				return s.Attempt == 2 && s.Ended.Sub(s.Began) == 2*time.Second && s.Undo == history.UndoDone
			}},
		{"done, of a directory's files", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host) + "\n" + loadedLines + "\n" + `"event":"done","result":{"table":"ns:t","manifest":{"hfiles":2,"bytes":250,"digest":{"rows":11}}}`, lock: signed(me, host, now)},
			history.JobDone, func(s *State) bool { return s.Rows == 11 && s.HFiles == 2 && s.Bytes == 250 }},
		{"running", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host), lock: signed(me, host, now), live: live(me, host, now)},
			history.JobRunning, func(s *State) bool {
				return s.Phase == "write" && *s.Percent == 42 && s.Rows == 9 && s.JobID == "night" && s.Attempts[0].State == history.JobRunning
			}},
		{"running, without a word", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host), lock: signed(me, host, now)}, history.JobRunning, func(s *State) bool { return s.Phase == "read" }},
		{"begins again", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + `"event":"failed","error":"x"`, lock: signed(me, host, now), live: live(nobody, host, at)},
			history.JobRunning, func(s *State) bool {
				return s.Phase == "plan" && s.PID == me && s.Attempts[0].State == history.JobFailed
			}},
		{"killed", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + builtLines, torn: `{"seq":9,"ti`, lock: signed(nobody, host, at), live: live(nobody, host, at)},
			history.JobInterrupted, func(s *State) bool { return s.Resumable && s.Phase == "load" && s.Rows == 11 && s.JobID == "night" }},
		{"killed, number used again", stateFiles{journal: planLine + "\n" + attemptLine(1, 1, host), lock: signed(1, host, time.Unix(1000, 0))}, history.JobInterrupted, nil},
		{"another machine, lively", stateFiles{journal: planLine + "\n" + attemptLine(1, 7, "elsewhere"), lock: signed(7, "elsewhere", now), live: live(7, "elsewhere", now)}, history.JobRunning, nil},
		{"another machine, silent", stateFiles{journal: planLine + "\n" + attemptLine(1, 7, "elsewhere"), lock: signed(7, "elsewhere", at), live: live(7, "elsewhere", at)}, history.JobInterrupted, nil},
		{"failed while it lives on", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host) + "\n" + `"event":"failed","error":"hdfs is full"`, lock: signed(me, host, at)},
			history.JobFailed, func(s *State) bool { return s.Error == "hdfs is full" && s.Resumable }},
		{"a difference was found", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + builtLines + "\n" + `"event":"failed","error":"the table differs","phase":"verify"`, lock: signed(nobody, host, at)},
			history.JobFailed, func(s *State) bool { return s.Error == "the table differs" && s.Phase == "verify" && s.Resumable }},
		{"killed in its verification", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + builtLines + "\n" + `"event":"loading","files":[{}]` + "\n" + loadedLines, lock: signed(nobody, host, at)},
			history.JobInterrupted, func(s *State) bool { return s.Phase == "verify" }},
		{"killed in its load", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + builtLines + "\n" + `"event":"loading","files":[{},{"path":"x"}]` + "\n" + loadedLines, lock: signed(nobody, host, at)},
			history.JobInterrupted, func(s *State) bool { return s.Phase == "load" }},
		{"stopped, as its journal says", stateFiles{journal: planLine + "\n" + attemptLine(1, me, host) + "\n" + `"event":"failed","error":"context canceled","stopped":true`, lock: signed(me, host, at)},
			history.JobStopped, func(s *State) bool { return s.Resumable && s.Error == "context canceled" }},
		{"refused", stateFiles{ending: &Ending{Schema: 1, Status: "failed", ExitCode: 3, Error: "no table", Kind: "check", Table: "ns:t", JobID: "night", Ended: now}, lock: signed(nobody, host, now)},
			history.JobFailed, func(s *State) bool {
				return *s.ExitCode == 3 && s.Table == "ns:t" && s.JobID == "night" && s.Error == "no table"
			}},
		{"stopped", stateFiles{journal: planLine + "\n" + attemptLine(2, me, host), ending: &Ending{Schema: 1, Status: "stopped", ExitCode: 143, Error: "context canceled", Attempt: 2, PID: me, Host: host, Ended: now}, lock: signed(me, host, at)},
			history.JobStopped, func(s *State) bool { return *s.ExitCode == 143 && s.Attempts[0].State == history.JobStopped }},
		{"killed after a failure", stateFiles{journal: planLine + "\n" + attemptLine(2, nobody, host), ending: &Ending{Schema: 1, Status: "failed", ExitCode: 6, Attempt: 1, Ended: at}, lock: signed(nobody, host, at)}, history.JobInterrupted, nil},
		{"other versions", stateFiles{journal: planLine + "\n" + attemptLine(1, nobody, host) + "\n" + `"event":"sung","loud":true`, live: &Live{Schema: 9}, ending: &Ending{Schema: 9}}, history.JobInterrupted, nil},
		{"damaged", stateFiles{journal: planLine, torn: "nonsense\n{}\n"}, history.JobUnknown, func(s *State) bool { return strings.Contains(s.Error, "line 2") && s.Table == "ns:t" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read(c.files.write(t, at))
			if err != nil {
				t.Fatal(err)
			}
			if s.State != c.want || c.check != nil && !c.check(s) {
				b, _ := json.Marshal(s)
				t.Errorf("%s, want %s: %s", s.State, c.want, b)
			}
		})
	}
}

// TestFindJob finds jobs by each of their names, and lists the newest first.
func TestFindJob(t *testing.T) {
	state := t.TempDir()
	for i, name := range []string{"a-000000000001", "b-000000000002", "c-000000000003"} {
		dir := stateFiles{journal: planLine, ending: &Ending{Schema: 1, Status: "failed", JobID: []string{"night", "twice", "twice"}[i], Ended: time.Now()}}.write(t, time.Now().Add(-time.Duration(i)*time.Hour))
		if err := os.Rename(dir, filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(state, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	jobs, err := ReadAll(state)
	if err != nil || len(jobs) != 3 || jobs[0].Last.Before(jobs[2].Last) {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, word := range []string{"a-000000000001", "000000000001", "night", filepath.Join(state, "a-000000000001")} {
		if s, err := Find(state, word); err != nil || s.Job != "a-000000000001" {
			t.Errorf("%s: %+v, %v", word, s, err)
		}
	}
	for word, want := range map[string]fail.Kind{"nobody": fail.Input, "": fail.Input, "twice": fail.Config, "other": fail.Input} {
		if s, err := Find(state, word); fail.KindOf(err) != want || want == fail.Input && !errors.Is(err, ErrNoJob) {
			t.Errorf("%q: %+v, %v", word, s, err)
		}
	}
	if jobs, err := ReadAll(filepath.Join(state, "none")); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// TestStatusTakesNoLock reads a job repeatedly while others take and release its lock: none of them finds it taken.
func TestStatusTakesNoLock(t *testing.T) {
	dir := stateFiles{journal: planLine}.write(t, time.Now())
	if IsOurs(dir) {
		t.Error("a lock that is not taken is ours")
	}
	for range 200 {
		l, err := journal.TryLock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Read(dir); err != nil || s.State != history.JobRunning || s.PID != os.Getpid() || !IsOurs(dir) {
			t.Fatalf("%+v, %v", s, err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewLive checks the rate and the remaining time of a phase.
func TestNewLive(t *testing.T) {
	at := time.Date(2017, 10, 12, 0, 0, 0, 0, time.UTC)
	l := NewLive(progress.Progress{At: at.Add(10 * time.Second), Phases: []progress.PhaseProgress{{Name: "read"}, {Name: "write", Began: at, Done: progress.Amount{Rows: 250}, Total: progress.Amount{Rows: 1000}}},
		Left: progress.Left{Phase: 30 * time.Second, PhaseKnown: true}}, "v1")
	if l.Phase != "write" || *l.Percent != 25 || l.RowsRate != 25 || *l.SecondsLeft != 30 || l.JobLeft != nil {
		t.Errorf("%+v", l)
	}
	if l := NewLive(progress.Progress{At: at}, "v1"); l.Phase != "" || l.Percent != nil || l.SecondsLeft != nil {
		t.Errorf("%+v", l)
	}
}

// BenchmarkReadJob reads the journal of a job of many regions, as status does.
func BenchmarkReadJob(b *testing.B) {
	for _, regions := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(regions), func(b *testing.B) {
			records := []string{planLine, attemptLine(1, 4711, "loader-1")}
			for i := range regions {
				records = append(records, fmt.Sprintf(`"event":"written","region":%d,"rows":1000000,"bytes":173000000,"path":"f/%032x","first_row":"00","last_row":"ff"`, i, i))
			}
			for i := range regions {
				records = append(records, fmt.Sprintf(`"event":"sending","groups":[{"region":"%032x","server":"rs%d","files":[{}]}]`, i, i%100))
			}
			for i := range regions {
				records = append(records, fmt.Sprintf(`"event":"loaded","region":"%032x","files":[{"path":"/%[1]x"}]`, i))
			}
			dir := stateFiles{journal: strings.Join(records, "\n")}.write(b, time.Now())
			for b.Loop() {
				s, err := Read(dir)
				if err != nil || s.State == history.JobUnknown || s.Loaded != regions || len(s.Taken) != regions {
					b.Fatalf("%+v, %v", s.Error, err)
				}
			}
		})
	}
}

// TestUnknownOutcomeIsReported checks the number of sent files whose outcome is
// unknown, until the job is done.
func TestUnknownOutcomeIsReported(t *testing.T) {
	sent := planLine + "\n" + attemptLine(1, 1<<22+12345, "elsewhere") + "\n" +
		`"event":"sending","groups":[{"region":"aa","files":[{"path":"/a"},{"path":"/b"}]}]` + "\n" + `"event":"loaded","region":"aa","files":[{"path":"/a"}]`
	for journal, want := range map[string]int{
		sent: 1,
		sent + "\n" + `"event":"unknown","files":[{"path":"/b"}]`:  1,
		sent + "\n" + `"event":"returned","files":[{"path":"/b"}]`: 0,
		sent + "\n" + `"event":"done"`:                             0,
	} {
		s, err := Read(stateFiles{journal: journal}.write(t, time.Now()))
		if err != nil || s.Sent != want {
			t.Errorf("%s: %v, %d files are unresolved, not %d", journal, err, s.Sent, want)
		}
	}
}

// TestFailureOnAnotherHost checks that a journal without the files of the job's host gives the kind of a failure and its exit code.
func TestFailureOnAnotherHost(t *testing.T) {
	begun := planLine + "\n" + attemptLine(1, 1<<22+12345, "elsewhere") + "\n" + `"event":"failed","error":"no file"`
	for journal, want := range map[string]string{begun: "", begun + `,"kind":"input"`: "input 5", begun + `,"kind":"of later versions"`: "", begun + `,"stopped":true`: ""} {
		s, err := Read(stateFiles{journal: journal}.write(t, time.Now()))
		testcheck.Must(t, err)
		got := ""
		if s.ExitCode != nil {
			got = fmt.Sprint(s.ErrorKind, " ", *s.ExitCode)
		}
		if got != want || s.Error != "no file" {
			t.Errorf("%s: %q, want %q", journal, got, want)
		}
	}
}

// TestCommandsWithoutLoads checks that the state of an export or a comparison names the command, from the journal alone, and that a comparison that found
// differences has the exit code of its command.
func TestCommandsWithoutLoads(t *testing.T) {
	comparing := attemptLine(1, 1<<22+12345, "elsewhere") + "\n" + `"event":"comparing","table":"t"` + "\n" + `"event":"compared","range":0,"found":{"rows_a":5}` + "\n"
	for journal, want := range map[string]string{
		attemptLine(1, 1, "h") + "\n" + `"event":"exporting","table":"t"` + "\n" + `"event":"done","result":{}`: "export 0",
		comparing + `"event":"done","result":{}`: "compare 0",
		comparing + `"event":"compared","range":1,"found":{"rows_changed":1}` + "\n" + `"event":"done","result":{}`: "compare 8",
		planLine + "\n" + `"event":"done","result":{}`:                                                              " 0",
	} {
		s, err := Read(stateFiles{journal: journal}.write(t, time.Now()))
		testcheck.Must(t, err)
		if got := fmt.Sprint(s.Command, " ", *s.ExitCode); got != want || s.State != history.JobDone {
			t.Errorf("%s: %q, want %q", journal, got, want)
		}
	}
}
