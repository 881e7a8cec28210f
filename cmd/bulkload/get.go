package main

import (
	"errors"

	"bulkload/pkg/query"

	"github.com/spf13/cobra"
)

func newGetCmd(g *globals) *cobra.Command {
	s := &specFlags{}
	r := &readFlags{}
	cmd := &cobra.Command{
		Use:   "get --job FILE VALUE…",
		Short: "Print the rows of a query key",
		Long: `Get computes the start of the row key from the values of the query columns, as the
readers of the table do, scans it and prints the rows that have these values. When
the salt cannot be computed from them, the rows of every salt are read and merged.` + "\n\n" + formatHelp + "\n" + exitHelp,
		Example: `  bulkload get --job examples/check.yaml A208848994
  bulkload get --job examples/opinion.yaml BN20170901001 02 --format table --columns id,opinion
  bulkload get --job examples/check.yaml A208848994 --explain`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("get takes the values of the query columns, at least one")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := s.load(cmd)
			if err != nil {
				return err
			}
			return r.run(cmd, g, spec, query.Query{Values: args})
		},
	}
	s.addTable(cmd.Flags())
	r.add(cmd.Flags())
	return cmd
}
