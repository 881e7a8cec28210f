package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags say who is told of a job, beside the log. They are those of run, build and load.
type watchFlags struct {
	result resultFlags
	report reportFlags
	telemetryFlags
}

func (w *watchFlags) add(f *pflag.FlagSet) {
	w.result.add(f)
	w.report.add(f)
	w.telemetryFlags.add(f)
}

// observe adds the observers that the flags ask for. An error is about a flag, and nothing has been done.
func (w *watchFlags) observe(cmd *cobra.Command, s *session) error {
	if err := w.report.observe(cmd, s); err != nil {
		return err
	}
	if err := w.result.observe(s); err != nil { // behind the report, whose place it tells
		return err
	}
	return w.telemetryFlags.observe(cmd, s)
}
