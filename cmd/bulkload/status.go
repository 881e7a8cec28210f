package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type statusOptions struct {
	clusterFlags
	state string
	job   string
	watch bool
}

func newStatusCmd(g *globals) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List jobs, or show one while it runs",
		Long: `Status lists the jobs of the state directory, the newest first; with --job it shows one
job, also while it runs. It takes no lock, so it may be called often, and connects to no
cluster except with --state hbase:TABLE: then it lists the jobs of all hosts. A job is
running, done, failed, stopped (by a signal) or interrupted (it was killed, or its
machine stopped). The command that began a failed, stopped or interrupted job resumes
it. The exit status is 0 if the job was found, whatever its state, which is in the field
"state" of --output json. For an unknown job the exit status is 5.`,
		Example: `  bulkload status
  bulkload status --job check-0123456789ab --output json
  bulkload status --job scheduled__2017-10-12 --watch`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	settings.Bind(f, settings.To{"state": &o.state, "job": &o.job, "watch": &o.watch})
	return cmd
}

func (o *statusOptions) run(cmd *cobra.Command, g *globals) error {
	if o.watch && o.job == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--watch needs --job"), "watch", "job"))
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	dir, err := currentState(cmd.Context(), env, o.state)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if o.job == "" {
		jobs, err := checkpoint.ReadAll(dir)
		if err != nil {
			return err
		}
		list := struct {
			Schema int                 `json:"schema"`
			Jobs   []*checkpoint.State `json:"jobs"`
		}{1, jobs}
		for _, s := range jobs { // --job shows the details
			s.Attempts, s.Result, s.Live, s.Log = nil, nil, nil, nil
			speakState(s)
		}
		return g.Print(w, list, func(w io.Writer) { printJobs(w, jobs, time.Now()) })
	}
	s, err := checkpoint.Find(dir, o.job)
	for o.watch && err == nil && s.State == checkpoint.JobRunning {
		speakState(s)
		if err := g.Print(w, s, func(w io.Writer) { fmt.Fprintln(w, liveLine(s)) }); err != nil {
			return err
		}
		if err := retry.Sleep(cmd.Context(), checkpoint.LiveEvery); err != nil {
			return err
		}
		if err := checkpoint.Refresh(cmd.Context(), env, dir); err != nil {
			return err
		}
		s, err = checkpoint.Find(dir, s.Dir)
	}
	if err != nil {
		return err
	}
	speakState(s)
	return g.Print(w, s, func(w io.Writer) { printJob(w, s, time.Now()) })
}

// speakState names settings as flags in the errors of a job's state: the journal has them in the library's words.
func speakState(s *checkpoint.State) {
	s.Error = settings.Spoken(s.Error)
	for i := range s.Attempts {
		s.Attempts[i].Error = settings.Spoken(s.Attempts[i].Error)
	}
}

func printJobs(out io.Writer, jobs []*checkpoint.State, now time.Time) {
	if len(jobs) == 0 {
		fmt.Fprintln(out, "no job has state here (--state names another directory)")
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "STATE\tTABLE\tATTEMPT\tPHASE\tROWS\tSTARTED\tENDED\tJOB\tJOB ID")
	for _, s := range jobs {
		ended := hourText(s.Ended, now)
		if s.State == checkpoint.JobRunning {
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

func liveLine(s *checkpoint.State) string {
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

func printJob(w io.Writer, s *checkpoint.State, now time.Time) {
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
	if s.State == checkpoint.JobRunning {
		line("process", "%d on %s since %s", s.PID, s.Host, hourText(s.Began, now))
		line("progress", "%s", strings.TrimPrefix(liveLine(s), s.Job+": "))
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
	if s.Sent > 0 && s.State != checkpoint.JobRunning {
		line("outcome", "unknown: HBase may hold %s of this job; run the same command, which resolves the outcome", setting.Count(s.Sent, "file"))
	}
	switch s.Undo {
	case checkpoint.UndoRunning:
		line("undo", "under way: bulkload undo --job %s resumes it", s.Job)
		if s.Offline {
			line("undo", "the table is out of service, or may be, until it ends")
		}
	case checkpoint.UndoDone:
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
