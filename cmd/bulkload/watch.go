package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags say who is told of a job, beside the log. They are those of run, build and load.
type watchFlags struct {
	progress progressFlags
}

func (w *watchFlags) add(f *pflag.FlagSet) {
	w.progress.add(f)
}

// observe adds the observers that the flags ask for. An error is about a flag, and nothing has been done.
func (w *watchFlags) observe(_ *cobra.Command, s *session) error {
	p, err := w.progress.observer(s)
	if p != nil {
		s.observers = append(s.observers, p)
	}
	return err
}
