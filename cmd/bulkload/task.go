package main

import (
	"os"

	"bulkload/internal/pipeline/mapreduce"

	"github.com/spf13/cobra"
)

// newTaskCmd returns the commands that run in the containers of a job on YARN. Users do not run them.
func newTaskCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "Run a task of a job on YARN", Hidden: true}
	process := func() mapreduce.Process {
		return mapreduce.Process{Env: os.LookupEnv, Dir: ".", In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Log: g.Logger()}
	}
	cmd.AddCommand(
		&cobra.Command{Use: "map", Short: "Read a share of the input", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return process().Map(cmd.Context()) }},
		&cobra.Command{Use: "reduce", Short: "Write the HFiles of some regions", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return process().Reduce(cmd.Context()) }},
	)
	return cmd
}
