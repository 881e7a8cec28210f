package jobtext

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/pkg/setting"
)

// PrintJobs prints a list of jobs, one a line. now is the current time.
func PrintJobs(out io.Writer, jobs []*status.State, now time.Time) {
	if len(jobs) == 0 {
		fmt.Fprintln(out, "no job has state here (--state names another directory)")
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "STATE\tTABLE\tATTEMPT\tPHASE\tROWS\tSTARTED\tENDED\tJOB\tJOB ID")
	for _, s := range jobs {
		ended := hourText(s.Ended, now)
		if s.State == history.JobRunning {
			ended = fmt.Sprintf("pid %d on %s", s.PID, s.Host)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\n", s.StateText(), orDash(s.Table), s.Attempt, s.PhaseText(), s.Rows, hourText(s.Began, now), ended, s.Job, orDash(s.JobID))
	}
}

func orDash(s string) string {
	return cmp.Or(s, "-")
}

// hourText prints a time in the local zone, without the date if it is today.
func hourText(t, now time.Time) string {
	switch t, now := t.Local(), now.Local(); {
	case t.IsZero():
		return "-"
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	default:
		return t.Format(time.DateTime)
	}
}

// Line returns the progress of a job in one line.
func Line(s *status.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, attempt %d, %s", s.Job, s.State, s.Attempt, s.PhaseText())
	l := s.Live
	if l == nil {
		return b.String()
	}
	if start := l.Progress.Start; start.Parts > 1 {
		fmt.Fprintf(&b, ", directory %d of %d", start.Part, start.Parts)
	}
	fmt.Fprintf(&b, ", %s", setting.Count(s.Rows, "row"))
	if l.Paused != nil {
		fmt.Fprintf(&b, ", paused: %s", l.Paused.Reason)
	}
	if l.RowsRate > 0 {
		fmt.Fprintf(&b, ", %.0f rows/s", l.RowsRate)
	}
	if l.BytesRate > 0 {
		fmt.Fprintf(&b, ", %s/s", setting.Bytes(int64(l.BytesRate)))
	}
	if l.SecondsLeft != nil {
		fmt.Fprintf(&b, ", about %s left in this phase", (time.Duration(*l.SecondsLeft) * time.Second).String())
	}
	if l.JobLeft != nil {
		fmt.Fprintf(&b, ", %s in all", (time.Duration(*l.JobLeft) * time.Second).String())
	}
	return b.String()
}

// PrintJob prints all about a job. now is the current time.
func PrintJob(w io.Writer, s *status.State, now time.Time) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	text := func(name, value string) {
		if value != "" {
			line(name, "%s", value)
		}
	}
	line("job", "%s", s.Job)
	text("job id", s.JobID)
	line("state", "%s", s.StateText())
	if s.State == history.JobRunning {
		line("process", "%d on %s since %s", s.PID, s.Host, hourText(s.Began, now))
		line("progress", "%s", strings.TrimPrefix(Line(s), s.Job+": "))
	}
	text("error", s.Error)
	if s.ExitCode != nil {
		line("exit code", "%d", *s.ExitCode)
	}
	line("table", "%s", orDash(s.Table))
	text("key", s.Key)
	if s.Inputs > 0 {
		line("inputs", "%s, %s", setting.Count(s.Inputs, "file"), setting.Bytes(s.InBytes))
	}
	line("written", "%s, %s, for %s", setting.Count(s.HFiles, "HFile"), setting.Bytes(s.Bytes), setting.Count(s.Regions, "region"))
	line("loaded", "%s", setting.Count(s.Loaded, "file"))
	for _, t := range s.Tables {
		line("of these", "%s", t.Text(setting.Bytes))
	}
	if s.Replace != nil {
		line("replace", "%s", s.Replace)
	}
	if s.Fresh != nil {
		line("replace", "%s", freshLine(s, hourText(s.Fresh.At, now)))
	}
	if s.Sent > 0 && s.State != history.JobRunning {
		line("outcome", "unknown: HBase may hold %s of this job; run the same command, which resolves the outcome", setting.Count(s.Sent, "file"))
	}
	switch s.Undo {
	case history.UndoRunning:
		line("undo", "under way: bulkload undo --job %s resumes it", s.Job)
		if s.Offline {
			line("undo", "the table is out of service, or may be, until it ends")
		}
	case history.UndoDone:
		line("undo", "undone at %s: the load is taken out of the table", hourText(s.UndoneAt, now))
	}
	if s.Copied != nil {
		line("copied", "table %s has what the table had before the load", s.Copied.Into)
	}
	for _, r := range s.Resources {
		if r.Table == "" || r.Table == s.Table {
			line(string(r.Kind), "%s", r.Name)
		} else {
			line(string(r.Kind), "%s, for table %s", r.Name, r.Table)
		}
	}
	text("report", s.Report)
	line("state in", "%s", s.Dir)
	for _, a := range s.Attempts {
		end := string(a.State)
		if a.Error != "" {
			end += ": " + a.Error
		}
		line("attempt "+strconv.Itoa(a.Attempt), "%s to %s, process %d on %s, %s", hourText(a.Began, now), hourText(a.Ended, now), a.PID, a.Host, end)
	}
}

// freshLine returns the line of status about the old table.
func freshLine(s *status.State, at string) string {
	f := s.Fresh
	text := fmt.Sprintf("in place of table %s", f.From)
	if !f.Made {
		text += ", table not made yet"
	}
	if f.Compared != nil {
		text += fmt.Sprintf(": %s", f.Compared)
	}
	switch f.Old {
	case history.OldDropped:
		text += fmt.Sprintf("; that was dropped at %s", at)
	case history.OldDropping:
		text += "; that is being dropped: the same command finishes it"
	default:
		text += "; that is kept"
	}
	return text
}
