package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags say where a job reports to, besides the log. They are those of run, build, merge and load.
type watchFlags struct {
	result resultFlags
	report reportFlags
	telemetryFlags
	progress progressFlags
}

func (w *watchFlags) add(f *pflag.FlagSet) {
	w.addLoad(f)
	w.report.addRecords(f)
}

// addLoad registers those of a command that reads no records.
func (w *watchFlags) addLoad(f *pflag.FlagSet) {
	w.result.add(f)
	w.report.add(f)
	w.telemetryFlags.add(f)
	w.progress.add(f)
}

// observe adds the observers that the flags ask for. An error is about a flag, and nothing has been done. A live view
// comes last: it ends when the others have said all.
func (w *watchFlags) observe(cmd *cobra.Command, s *session) error {
	if err := w.report.observe(cmd, s); err != nil {
		return err
	}
	if err := w.result.observe(s); err != nil { // after the report, whose place it says
		return err
	}
	if err := w.telemetryFlags.observe(cmd, s); err != nil {
		return err
	}
	p, err := w.progress.observer(s)
	if p != nil {
		s.observers = append(s.observers, p)
	}
	return err
}
