package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
)

// observer learns what a command does, besides the caller that waits for its result.
type observer interface {
	// events are called while the job works; see [progress.Events].
	events() progress.Events
	// end is called once, when the job has ended. What goes wrong with reporting a job does not change how it
	// ended: the error is logged as a warning.
	end(o outcome) error
}

// outcome is how a command ended.
type outcome struct {
	result   *result.Result // nil if nothing is known
	err      error
	code     int // the exit code
	began    time.Time
	ended    time.Time
	progress progress.Progress
}

// session is one command's work on a job, with its observers.
type session struct {
	ctx       context.Context // the command's: it distinguishes a stop by a signal from other ends
	cmd       *cobra.Command
	args      []string  // of the program
	spec      spec.Spec // as far as the command has one
	log       *slog.Logger
	console   *ui.Console
	quiet     bool
	tracker   progress.Tracker
	phases    phaseLog
	observers []observer
	began     time.Time
	outcome   *outcome // nil until the end
	showing   func(error) error
	report    string // where the report is, once it is written
}

// begin starts a session, which the command's result will report.
func (g *globals) begin(cmd *cobra.Command, log *slog.Logger, spec spec.Spec) *session {
	jobAttrsOf(log).events().OnStart(progress.Start{Table: spec.Table})
	g.session = &session{showing: g.showing, ctx: cmd.Context(), cmd: cmd, args: g.args, spec: spec, log: log, console: g.console, quiet: g.logs.quiet, began: time.Now()}
	g.session.phases = phaseLog{log: log, tracker: &g.session.tracker}
	return g.session
}

// events go to the log, the tracker and all observers.
func (s *session) events() progress.Events {
	before := progress.Events{OnStart: func(progress.Start) { s.tracker.End(); s.phases.tell() }} // of a part
	all := []progress.Events{before, jobAttrsOf(s.log).events(), s.tracker.Events(), s.phases.events()}
	for _, o := range s.observers {
		all = append(all, o.events())
	}
	return progress.Tee(append(all, logEvents(s.log))...)
}

// end reports to all observers how the job ended, and gives the error back.
func (s *session) end(r *result.Result, err error) error {
	s.tracker.End()
	if e, ok := errors.AsType[*expectation.NotMet](err); ok && (r == nil || r.Manifest == nil || r.Manifest.Expect != e.Counts) {
		known := result.Result{Schema: 1}
		if r != nil {
			known = *r
		}
		known.NotMet, r = e.Counts, &known
	}
	err = settings.SpokenError(err)
	if s.showing != nil {
		err = s.showing(err)
	}
	if r != nil {
		for i := range r.Parts {
			r.Parts[i].Error = settings.Spoken(r.Parts[i].Error)
		}
	}
	o := outcome{result: r, err: err, began: s.began, ended: time.Now(), progress: s.tracker.Progress()}
	if err != nil {
		o.code = endCode(s.ctx, err)
	}
	s.outcome = &o
	s.phases.tell() // of the last
	var failed []error
	for _, w := range s.observers {
		failed = append(failed, w.end(o))
	}
	if told := errors.Join(failed...); told != nil {
		s.log.Warn("failed to publish the job result", "error", told)
	}
	return err
}
