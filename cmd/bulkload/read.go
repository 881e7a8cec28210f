package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/cli/rowtext"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"
)

// readFlags are the flags of the commands that print rows.
type readFlags struct {
	clusterFlags
	format  string
	columns string
	limit   int64
	page    string
	memory  spec.Size
	explain bool
	index   string // index to read rows by; empty: the table's key
}

const formatHelp = `Rows are printed as JSON lines, CSV with a header, or a table. In JSON, a value that
is not UTF-8 is {"base64": "…"}. CSV and tables print row keys as HBase prints them,
and values that are not UTF-8 with \xNN; tables also print values with control
characters that way.`

func (r *readFlags) add(f *pflag.FlagSet) {
	r.clusterFlags.add(f)
	r.memory = 64 << 20
	settings.Bind(f, settings.To{"format": &r.format, "columns": &r.columns, "limit": &r.limit, "page": &r.page, "memory": &r.memory, "explain": &r.explain})
}

func (r *readFlags) run(cmd *cobra.Command, g *globals, spec spec.Job, q query.Query) error {
	if g.JSON() && r.format != "jsonl" {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--output json and --format %s exclude each other", r.format), "output", "format"))
	}
	if cmd.Flags().Changed("columns") {
		q.Columns = settings.SplitList(r.columns)
	}
	q.Limit, q.Page, q.Memory, q.Explain = r.limit, r.page, r.memory, r.explain
	env, err := r.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	rows := rowtext.New(out, r.format, spec.Spec(), q.Columns)
	st, err := r.read(cmd.Context(), env, spec, q, rows.Row)
	return rows.End(err, st, func() error { return r.report(g, cmd.OutOrStdout(), os.Stderr, st) })
}

func (r *readFlags) read(ctx context.Context, env *cluster.Env, s spec.Job, q query.Query, fn func(loader.Row) error) (*query.ReadStats, error) {
	if r.index != "" {
		return query.ReadBy(ctx, env, s, r.index, q, fn)
	}
	return query.Read(ctx, env, s, q, fn)
}

// report prints the read statistics. In text form they go to standard error, so that programs do not take them for
// rows.
func (r *readFlags) report(g *globals, out, messages io.Writer, st *query.ReadStats) error {
	if st.KeyOrder {
		g.Logger().Warn(keyrange.KeyOrder)
	}
	if g.JSON() {
		return json.NewEncoder(out).Encode(struct {
			*query.ReadStats
			Dial int64 `json:"find_cluster_micros"`
			Scan int64 `json:"scan_micros"`
		}{st, st.Dial.Microseconds(), st.Scan.Microseconds()})
	}
	rowtext.PrintStats(messages, st, r.explain)
	return nil
}

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
