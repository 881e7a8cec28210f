package main

import (
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
)

type scanOptions struct {
	specFlags
	readFlags
	rangeFlags
	full bool
}

func newScanCmd(g *globals) *cobra.Command {
	o := &scanOptions{}
	cmd := &cobra.Command{
		Use:   "scan --job FILE [--from VALUE[,VALUE]] [--to VALUE[,VALUE]]",
		Short: "Print the rows in a range of the original key, in its order",
		Long: `Scan reads a range of the original key, the part of the row key after the salt. If
the key has a salt, scan reads each of its values with a scan of its own, several at
a time, and merges the rows in the order of the original key.

--from is inclusive, --to is exclusive. They are values of the original key's first
columns, separated by commas; bytes are written as \xNN, a comma as \, and a
backslash as \\. Columns with the same value in both may be hashed. If a hash
precedes the first column that differs, no range can be computed, and scan says so;
--full then reads the whole table and prints the rows in the range.

--start-row, --stop-row and --row-prefix are bytes of row keys, including the salt,
and need no key.

When --limit leaves rows, the last line of standard error is their page token: the
same command with --page TOKEN resumes after the last row, even if regions have split
or moved. With --output json the token is in the last object.` + "\n\n" + formatHelp,
		Example: `  bulkload scan --job orders.yaml --from 20150524 --to 20150525 --limit 50
  bulkload scan --table orders --key 'salt(ts, 10) + ts + id' --prefix 20150524 --format csv --columns ts,id
  bulkload scan --table orders --start-row '320150524\x00' --limit 10 --format table`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.addTable(f)
	o.readFlags.add(f)
	o.rangeFlags.add(f)
	settings.Bind(f, settings.To{"full": &o.full})
	return cmd
}

func (o *scanOptions) run(cmd *cobra.Command, g *globals) error {
	given := settings.JobSpec(cmd)
	q, err := o.query(cmd)
	if err != nil {
		return fail.Usage(err)
	}
	q.Full = o.full
	resolve := given.Resolve
	if given.Key == "" && (q.Raw || !o.byKey()) { // a range of row key bytes, or the whole table, needs no key
		q.Raw, resolve = true, given.ResolveTable
	}
	spec, err := resolve()
	if err != nil {
		return err
	}
	return o.readFlags.run(cmd, g, spec, q)
}
