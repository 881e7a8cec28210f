package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reportFlags say where a job's report goes.
type reportFlags struct {
	file    string
	records bool
}

func (r *reportFlags) add(f *pflag.FlagSet) {}

func (r *reportFlags) observe(cmd *cobra.Command, s *session) error { return nil }
