// Package status says what is known of jobs without taking their locks. [Read] makes a [State] of a job's directory:
// of its journal, of the progress reports of its process ([Live]), and of how its last run ended ([Ending]). [ReadAll] and [Cache]
// read all jobs of a directory, and [Find] finds one by its name. A [Trace] decides whether `clean` may remove a job. [Command]
// is how the job's command is given again.
package status

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// State is the state of a job according to its state directory.
type State struct {
	Schema    int                  `json:"schema"` // version of this format: 1
	Job       string               `json:"job"`    // name of its directory
	Dir       string               `json:"dir"`
	JobID     string               `json:"job_id,omitempty"` // the caller's ID of the job
	Table     string               `json:"table,omitempty"`
	Command   string               `json:"command,omitempty"` // of the last attempt, if known
	State     history.Status       `json:"state"`
	Resumable bool                 `json:"resumable,omitempty"`  // the same command resumes it
	ExitCode  *int                 `json:"exit_code,omitempty"`  // of the last attempt, if known
	Error     string               `json:"error,omitempty"`      // likewise
	ErrorKind string               `json:"error_kind,omitempty"` // likewise
	Attempt   int                  `json:"attempt"`              // the last attempt; 0: none began
	PID       int                  `json:"pid,omitempty"`        // of the last attempt, or of the process that works on the job now
	Host      string               `json:"host,omitempty"`
	Phase     string               `json:"phase,omitempty"`
	Percent   *float64             `json:"percent,omitempty"`          // of the phase; 100 if the job is done
	Rows      int64                `json:"rows"`                       // done in the current phase while it runs; otherwise in the files
	Rejected  int64                `json:"rejected,omitempty"`         // records that were set aside, as of the end of the last attempt
	HFiles    int                  `json:"hfiles"`                     // complete HFiles
	Bytes     int64                `json:"bytes"`                      // size of these HFiles
	Regions   int                  `json:"regions,omitempty"`          // in the plans of all tables
	Loaded    int                  `json:"loaded_files"`               // files loaded by HBase
	Sent      int                  `json:"unresolved_files,omitempty"` // files sent to HBase whose outcome is unknown
	Began     time.Time            `json:"began,omitzero"`             // of the last attempt
	Ended     time.Time            `json:"ended,omitzero"`             // likewise, unless it runs
	Last      time.Time            `json:"last,omitzero"`              // time of the last record or report
	Tables    []history.TableState `json:"tables,omitempty"`           // of a job of several tables, in loading order
	Live      *Live                `json:"live,omitempty"`             // report of the running job
	Log       []string             `json:"log,omitempty"`              // the last lines of the log of the last attempt
	Key       string               `json:"key,omitempty"`
	Inputs    int                  `json:"input_files,omitempty"`
	InBytes   int64                `json:"input_bytes,omitempty"`
	Staging   string               `json:"staging,omitempty"`
	Snapshot  string               `json:"snapshot,omitempty"`
	Replace   *result.Replace      `json:"replace,omitempty"`     // what the load deletes, if known
	Fresh     *history.FreshState  `json:"fresh,omitempty"`       // state of a table that replaces another
	Undo      string               `json:"undo,omitempty"`        // under way, or undone: the load is removed from the table
	UndoneAt  time.Time            `json:"undone_at,omitzero"`    // end of the undo
	Undone    *result.Undo         `json:"undo_result,omitempty"` // result of the undo
	Offline   bool                 `json:"offline,omitempty"`     // a running undo has taken the table out of service, or may have
	Copied    *result.Undo         `json:"copied,omitempty"`      // a new table has the table's contents from before the load
	Resources []history.Resource   `json:"resources,omitempty"`   // resources outside its directory that the job has made and has not removed
	Attempts  []history.Attempt    `json:"attempts,omitempty"`
	Result    *result.Result       `json:"result,omitempty"` // of a finished job
	Report    string               `json:"report,omitempty"` // the newest report, if any
	Taken     []history.Taken      `json:"-"`                // regions that have received files, by name
	Files     []manifest.File      `json:"-"`                // complete files, in no particular order
	Splits    []rowkey.Key         `json:"-"`
	Source    []progress.InputFile `json:"-"`
	differs   bool                 // a comparison found differences
}

// ErrNoJob reports that a state directory has no such job.
var ErrNoJob = errors.New("no such job")

// Read returns the state of the job with the given directory. It does not touch the
// job's lock, so the job may run or start meanwhile. A damaged journal is reported
// in the state's Error, with the status unknown.
func Read(dir string) (*State, error) {
	name := filepath.Join(dir, journal.FileName)
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &State{Schema: 1, Job: filepath.Base(dir), Dir: dir, State: history.JobUnknown}
	records, damage := journal.Read(f)
	h, err := history.Of(records)
	damage = cmp.Or(damage, err)
	s.restore(&h)
	s.judge(time.Now(), len(records) > 0)
	report := filepath.Join(dir, "report.html")
	if _, err := os.Stat(report); err == nil {
		s.Report = report
	}
	if damage != nil {
		s.State, s.Error = history.JobUnknown, fmt.Sprintf("journal %s: %v", name, damage)
	}
	return s, nil
}

// ReadAll returns the states of all jobs below a directory, default [DefaultState],
// the newest first. A missing directory has no jobs.
func ReadAll(dir string) ([]*State, error) { return readAll(dir, Read) }

func readAll(dir string, read func(dir string) (*State, error)) ([]*State, error) {
	if dir == "" {
		var err error
		if dir, err = DefaultState(); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // the caller may be in another directory
	}
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail.With(fail.Config, err)
	}
	jobs := []*State{}
	for _, d := range list {
		if !d.IsDir() || !IsJobDir(d.Name()) {
			continue
		}
		s, err := read(filepath.Join(dir, d.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // no journal: not a job's directory, or it was just cleaned
		}
		if err != nil {
			s = &State{Schema: 1, Job: d.Name(), Dir: filepath.Join(dir, d.Name()), State: history.JobUnknown, Error: err.Error()}
		}
		jobs = append(jobs, s)
	}
	slices.SortStableFunc(jobs, func(a, b *State) int { return b.Last.Compare(a.Last) })
	return jobs, nil
}

// Find returns the state of the one job that word identifies: its directory, the
// name of the directory below state (default [DefaultState]), the twelve digits at
// its end, or the caller's ID of the job. The error is [ErrNoJob] if there is none.
func Find(state, word string) (*State, error) {
	if s, err := Read(word); err == nil && strings.ContainsRune(word, filepath.Separator) {
		return s, nil
	}
	jobs, err := ReadAll(state)
	if err != nil {
		return nil, err
	}
	var found []*State
	for _, s := range jobs {
		if s.Job == word || strings.HasSuffix(s.Job, "-"+word) && len(word) == history.StateDigits || s.JobID != "" && s.JobID == word {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, fail.With(fail.Input, setting.Errorf("%w: %s is not a directory with a journal, nor the name, ID or %s of a job with state here (bulkload status lists them)", ErrNoJob, word, setting.JobID))
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = s.Job
	}
	return nil, fail.Errorf(fail.Config, "%s is the %s of several jobs, such as %s (name one by its directory)", word, setting.JobID, strings.Join(names[:min(len(names), 3)], "; "))
}

// judge sets the status of the job, from its journal, the process that last signed
// its lock, its progress reports, and the result of its last run.
func (s *State) judge(now time.Time, begun bool) {
	live, end := ReadLive(s.Dir), ReadEnding(s.Dir)
	if live != nil {
		s.JobID, s.Table = cmp.Or(live.Progress.Start.JobID, s.JobID), cmp.Or(s.Table, live.Progress.Start.Table)
		s.Command, s.Log, live.Log = cmp.Or(live.Command, s.Command), live.Log, nil
	}
	if end != nil {
		s.JobID, s.Table, s.Command, s.Rejected = cmp.Or(s.JobID, end.JobID), cmp.Or(s.Table, end.Table), cmp.Or(s.Command, end.Command), end.Rejected
	}
	if s.Result != nil && s.Result.Manifest != nil {
		s.Rejected = s.Result.Manifest.Rejected
	}
	owner, err := journal.LastOwner(s.Dir)
	held := err == nil && s.State != history.JobDone && OwnerAlive(owner, live, now) && !s.endedBy(owner, end)
	switch {
	case s.State == history.JobDone:
		code, percent := 0, 100.0
		if s.differs {
			code = fail.Verify.ExitCode()
		}
		s.ExitCode, s.Percent, s.Phase = &code, &percent, ""
	case held:
		s.run(owner, live)
	case end != nil && !end.Ended.Before(s.Last) && end.Status != "done":
		s.ended(end)
	case len(s.Attempts) > 0:
		a := history.LastAttempt(s.Attempts)
		s.State, s.Error, s.ErrorKind, s.Ended, s.Resumable = a.State, a.Error, a.Kind, a.Ended, true
		if k, ok := fail.ParseKind(a.Kind); ok {
			s.ExitCode = new(k.ExitCode())
		}
	case begun:
		s.State, s.Resumable, s.Ended = history.JobInterrupted, true, s.Last
	}
}

// endedBy reports whether the process that last signed the lock has recorded an
// end. The process itself may exit a moment later.
func (s *State) endedBy(o journal.Owner, end *Ending) bool {
	if end != nil && end.PID == o.PID && end.Host == o.Host && !end.Ended.Before(o.Since) {
		return true
	}
	a := history.LastAttempt(s.Attempts)
	return a.PID == o.PID && a.Host == o.Host && (a.State == history.JobFailed || a.State == history.JobStopped)
}

// run fills in the state of a running job.
func (s *State) run(o journal.Owner, live *Live) {
	s.State, s.PID, s.Host = history.JobRunning, o.PID, o.Host
	if live == nil || live.PID != o.PID || live.Host != o.Host || live.Updated.Before(o.Since) {
		if a := history.LastAttempt(s.Attempts); a.PID != o.PID || a.Host != o.Host {
			s.Began, s.Phase = o.Since, "plan"
		} else {
			a.State = history.JobRunning
		}
		return
	}
	s.Live, s.Percent, s.Phase, s.Last = live, live.Percent, live.Phase, live.Updated
	s.Attempt, s.Began = max(s.Attempt, live.Progress.Start.Attempt), live.Progress.Began
	if n := len(live.Progress.Phases); n > 0 {
		s.Rows = live.Progress.Phases[n-1].Done.Rows
	}
	if a := history.LastAttempt(s.Attempts); a.PID == o.PID {
		a.State = history.JobRunning
	}
}

// ended fills in the state of a job whose last attempt has recorded its own end.
func (s *State) ended(e *Ending) {
	s.State, s.ExitCode, s.Error, s.ErrorKind, s.Ended, s.Last = history.JobFailed, &e.ExitCode, e.Error, e.Kind, e.Ended, e.Ended
	s.Attempt = max(s.Attempt, e.Attempt)
	if s.Began.IsZero() || e.Attempt == 0 {
		s.Began = e.Began
	}
	if e.Status == string(history.JobStopped) {
		s.State = history.JobStopped
	}
	s.Resumable = true
	if a := history.LastAttempt(s.Attempts); a.Attempt == e.Attempt {
		a.State, a.Error, a.Kind, a.Ended = s.State, e.Error, e.Kind, e.Ended
	}
}

// StateText returns the status of the job in words.
func (s *State) StateText() string {
	switch s.Undo {
	case history.UndoRunning:
		return string(s.State) + ", undo under way"
	case history.UndoDone:
		return string(s.State) + ", undone"
	}
	if s.Resumable {
		return string(s.State) + ", resumable"
	}
	return string(s.State)
}

// PhaseText returns the phase of a job that is not done, and its completed
// percentage.
func (s *State) PhaseText() string {
	switch {
	case s.State == history.JobDone || s.Phase == "":
		return "-"
	case s.Percent != nil:
		return fmt.Sprintf("%s %.0f%%", s.Phase, *s.Percent)
	}
	return s.Phase
}

// IsJobDir reports whether name can be the name of a job's directory: its table, and twelve digits of its identity.
func IsJobDir(name string) bool { return jobDir.MatchString(name) }

var jobDir = regexp.MustCompile(`^[A-Za-z0-9_.-]+-[0-9a-f]{12}$`)

// DefaultState returns the default directory of jobs' state: $BULKLOAD_STATE, else $XDG_STATE_HOME/bulkload, else ~/.local/state/bulkload.
func DefaultState() (string, error) {
	if dir := os.Getenv("BULKLOAD_STATE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "bulkload"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", setting.Errorf("find the directory of jobs' state (name it with %s): %w", setting.State, err)
	}
	return filepath.Join(home, ".local", "state", "bulkload"), nil
}
