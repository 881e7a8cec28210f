package session

import (
	"fmt"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/report"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"

	"github.com/spf13/pflag"
)

// Watch says where a job reports to, besides the log.
type Watch struct {
	result  string // a file
	report  string // off: none
	records bool   // the report shows bad records
	telemetryFlags
	progress string // how it is shown

	resultOnly bool
}

// Add registers the flags of a command that reads records.
func (w *Watch) Add(f *pflag.FlagSet) {
	w.AddLoad(f)
	settings.Bind(f, settings.To{"report-records": &w.records})
}

// AddLoad registers those of a command that reads none.
func (w *Watch) AddLoad(f *pflag.FlagSet) {
	w.AddResult(f)
	w.resultOnly = false
	settings.Bind(f, settings.To{"report": &w.report})
	w.telemetryFlags.add(f)
}

// AddResult registers those of a command that has a result and a view, and reports nowhere else.
func (w *Watch) AddResult(f *pflag.FlagSet) {
	w.resultOnly = true
	settings.Bind(f, settings.To{"result-file": &w.result, "progress": &w.progress})
}

// observe adds the observers that the flags ask for. What could be wrong with a flag is found before anything is begun. A live view
// comes last: it ends when the others have said all.
func (w *Watch) observe(s *Session) error {
	if !w.resultOnly && w.report != "off" {
		r, err := report.Gather(report.Options{Cmd: s.cmd, Spec: s.about.Spec, Tracker: &s.tracker, File: w.report, Records: w.records})
		if err != nil {
			return err
		}
		s.observers = append(s.observers, r)
	}
	if w.result != "" { // that of an earlier run goes: a killed one must not be taken for it
		if err := removeOld(w.result); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--result-file: %w", err), "result-file"))
		}
	}
	s.observers = append(s.observers, &stateWriter{session: s}) // after the report, whose place it says
	if !w.resultOnly {
		if err := w.telemetryFlags.observe(s); err != nil {
			return err
		}
	}
	switch {
	case w.progress == "off" || s.program.logs.quiet:
	case w.progress != "lines" && ui.CanDraw(s.program.Console.File): // which can move its cursor
		v := ui.NewLive(&s.tracker, s.program.Console)
		s.observers = append(s.observers, shown(func(o ending.Outcome) { v.End(o.Err != nil) }))
	default:
		lines := ui.NewLines(&s.tracker, s.log)
		s.observers = append(s.observers, shown(func(ending.Outcome) { lines.End() }))
	}
	return nil
}

// shown ends a view of the session's progress, which looks at the tracker itself.
type shown func(ending.Outcome)

func (shown) Events() progress.Events { return progress.Events{} }

func (v shown) End(o ending.Outcome) error {
	v(o)
	return nil
}
