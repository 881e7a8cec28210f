package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags say who is told of a job, beside the log. They are those of run, build and load.
type watchFlags struct{}

func (w *watchFlags) add(*pflag.FlagSet) {}

// observe adds the observers that the flags ask for. An error is about a flag, and nothing has been done.
func (w *watchFlags) observe(*cobra.Command, *session) error { return nil }
