package main

import (
	"errors"
	"fmt"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/serve/query"

	"github.com/spf13/cobra"
)

func newGetCmd(g *globals) *cobra.Command {
	s := &specFlags{}
	r := &readFlags{}
	by := ""
	cmd := &cobra.Command{
		Use:   "get --job FILE VALUE…",
		Short: "Print the rows of a query key",
		Long: `Get computes the start of the row key from the values of the query columns, as
readers of the table do. It scans from there and prints the rows that have these
values. If the salt cannot be computed from them, it reads the rows of every salt and
merges them.

With --by, the values are those of an index that the job file lists under tables. Get
compares each entry with its row, and skips an entry whose row is deleted or has other
values now.` + "\n\n" + formatHelp,
		Example: `  bulkload get --job examples/check.yaml A208848994
  bulkload get --job examples/opinion.yaml BN20170901001 02 --format table --columns id,submit_opinion
  bulkload get --job examples/check.yaml A208848994 --explain
  bulkload get --job check.yaml --by by_date 2017-10-12`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fail.Usage(errors.New("get needs the values of the query columns: give at least one"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := s.load(cmd)
			if err != nil {
				return err
			}
			if by != "" {
				_, err := spec.Index(by)
				r.index = by
				if err != nil {
					return fail.Usage(settings.AboutFlags(fmt.Errorf("--by: %w", err), "by"))
				}
			}
			return r.run(cmd, g, spec, query.Query{Values: args})
		},
	}
	settings.Bind(cmd.Flags(), settings.To{"by": &by})
	s.addTable(cmd.Flags())
	r.add(cmd.Flags())
	return cmd
}
