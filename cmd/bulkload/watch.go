package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags say who is told of a job, beside the log. They are those of run, build and load.
type watchFlags struct {
	result resultFlags
	report reportFlags
}

func (w *watchFlags) add(f *pflag.FlagSet) {
	w.result.add(f)
	w.report.add(f)
}

// observe adds the observers that the flags ask for. An error is about a flag, and nothing has been done.
func (w *watchFlags) observe(cmd *cobra.Command, s *session) error {
	if err := w.report.observe(cmd, s); err != nil {
		return err
	}
	return w.result.observe(s) // behind the report, whose place it tells
}
