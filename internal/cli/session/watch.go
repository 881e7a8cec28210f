package session

import (
	"context"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/report"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"

	"github.com/spf13/pflag"
)

// Watch selects the targets of a job's reports, besides the log.
type Watch struct {
	report  string // off: none
	records bool   // the report shows bad records
	telemetryFlags
	progress string // form of the progress

	resultOnly bool
}

// Add registers the flags of a command that reads records.
func (w *Watch) Add(f *pflag.FlagSet) {
	w.AddLoad(f)
	settings.Bind(f, settings.To{"report-records": &w.records})
}

// AddLoad registers the flags of a command that reads no records.
func (w *Watch) AddLoad(f *pflag.FlagSet) {
	w.AddResult(f)
	w.resultOnly = false
	settings.Bind(f, settings.To{"report": &w.report})
	w.telemetryFlags.add(f)
}

// AddResult registers the flags of a command that has a result and a view, but no other reports.
func (w *Watch) AddResult(f *pflag.FlagSet) {
	w.resultOnly = true
	settings.Bind(f, settings.To{"result-file": new(string), "progress": &w.progress})
}

// observe adds the observers that the flags select. It detects wrong flags before any work begins. A live view is the last
// observer: it ends after the output of all others.
func (w *Watch) observe(s *Session) error {
	if !w.resultOnly && w.report != "off" {
		r, err := report.Gather(report.Options{Cmd: s.cmd, Spec: s.about.Spec, Tracker: &s.tracker, File: w.report, Records: w.records})
		if err != nil {
			return err
		}
		s.observers = append(s.observers, r)
	}
	s.observers = append(s.observers, &stateWriter{session: s}) // after the report, whose path it records
	if !w.resultOnly {
		if err := w.telemetryFlags.observe(s); err != nil {
			return err
		}
	}
	switch {
	case w.progress == "off" || s.program.logs.quiet:
	case w.progress != "lines" && ui.CanDraw(s.program.Console.File): // the terminal can move its cursor
		v := ui.NewLive(&s.tracker, s.program.Console)
		s.observers = append(s.observers, atEnd(func(_ context.Context, o ending.Outcome) error {
			v.End(o.Err != nil)
			return nil
		}))
	default:
		lines := ui.NewLines(&s.tracker, s.log)
		s.observers = append(s.observers, atEnd(func(context.Context, ending.Outcome) error {
			lines.End()
			return nil
		}))
	}
	return nil
}
