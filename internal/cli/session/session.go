package session

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/settings"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"

	"github.com/spf13/cobra"
)

// observer receives a command's events, besides the caller that waits for its result.
type observer interface {
	// Events are called while the job works; see [progress.Events].
	Events() progress.Events
	// End is called once, when the job has ended, with the command's context, which a signal ends. Its error does not change
	// the outcome of the job: it is logged as a warning.
	End(ctx context.Context, o ending.Outcome) error
}

// Session is one command's work on a job, with its observers.
type Session struct {
	program   *Program
	ctx       context.Context // the command's context, which distinguishes a stop by a signal from other ends
	cmd       *cobra.Command
	about     lineage.Subject
	log       *slog.Logger
	tracker   progress.Tracker
	phases    phaseLog
	observers []observer
	began     time.Time
	outcome   *ending.Outcome // nil until the end
}

// Begin starts a session, which the command's result will report, with the observers that the flags select. An error is about a flag; in
// that case no work has been done.
func (p *Program) Begin(cmd *cobra.Command, log *slog.Logger, about lineage.Subject, w *Watch) (*Session, error) {
	jobAttrsOf(log).events().OnStart(progress.Start{Table: about.Spec.Table})
	s := &Session{program: p, ctx: cmd.Context(), cmd: cmd, about: about, log: log, began: time.Now()}
	s.phases = phaseLog{log: log, tracker: &s.tracker}
	p.session = s
	err := w.observe(s)
	jobAttrsOf(log).handTo(func(msg string, kv ...any) { s.observing().Warn(msg, kv...) })
	return s, err
}

// observing returns the callbacks of the tracker and all observers.
func (s *Session) observing() progress.Events {
	all := []progress.Events{s.tracker.Events(), s.phases.events()}
	for _, o := range s.observers {
		all = append(all, o.Events())
	}
	return progress.Tee(all...)
}

// Events returns the callbacks of the log, the tracker and all observers. The log hands on its warnings, those that are no events too.
func (s *Session) Events() progress.Events {
	before := progress.Events{OnStart: func(progress.Start) { s.tracker.End(); s.phases.logPhases() }} // end of a part
	others := s.observing()
	if _, ok := s.log.Handler().(jobHandler); ok {
		others.OnWarn = nil
	}
	return progress.Tee(before, jobAttrsOf(s.log).events(), others, LogEvents(s.log))
}

// End reports the job's outcome to all observers, writes it to the file of --result-file, and returns the error.
func (s *Session) End(r *result.Result, err error) error {
	s.tracker.End()
	if e, ok := errors.AsType[*expectation.NotMet](err); ok && (r == nil || r.Manifest == nil || r.Manifest.Expect != e.Counts) {
		known := result.Result{Schema: 1}
		if r != nil {
			known = *r
		}
		known.NotMet, r = e.Counts, &known
	}
	err = s.program.showing(settings.SpokenError(s.cmd, err))
	if r != nil {
		for i := range r.Parts {
			r.Parts[i].Error = settings.Spoken(r.Parts[i].Error)
		}
	}
	o := ending.Outcome{Result: r, Err: err, Began: s.began, Ended: time.Now(), Progress: s.tracker.Progress()}
	if err != nil {
		o.Code = ending.CodeOf(s.ctx, err)
	}
	o.Describe(s.cmd, s.program.Build.Version, s.about.Spec.Table)
	s.outcome = &o
	s.phases.logPhases() // the last phase
	var failed []error
	for _, w := range s.observers {
		failed = append(failed, w.End(s.ctx, o))
	}
	if told := errors.Join(failed...); told != nil {
		s.log.Warn("failed to publish the job result", "error", told)
	}
	o.Object.Warnings = s.tracker.Progress().Warnings
	if file := s.program.place; file != "" { // before any text: SIGPIPE ends the process if nothing reads standard output
		if b, e := lineOf(o.Object); e == nil {
			_ = s.program.replaceResult(file, b) // the end of the command writes it again, and reports what fails
		}
	}
	return err
}

// Summarize prints the summary of a job at its end, if results are printed as text.
func (s *Session) Summarize(w io.Writer) error {
	if !s.program.ForPeople() {
		return nil
	}
	return s.outcome.Print(w)
}
