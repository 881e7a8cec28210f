package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	rows := newRowPrinter(out, r.format, spec.Spec(), q.Columns)
	st, err := r.read(cmd.Context(), env, spec, q, rows.row)
	return rows.end(err, st, func() error { return r.report(g, cmd.OutOrStdout(), os.Stderr, st) })
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
	if r.explain {
		explain(messages, st)
	}
	if st.Next != "" {
		fmt.Fprintf(messages, "next page: --page %s\n", st.Next)
	}
	return nil
}

// explain prints the read statistics of each region.
func explain(w io.Writer, st *query.ReadStats) {
	fmt.Fprintf(w, "%s of %s and %s: %s to find the cluster and the table, %s to read\n",
		setting.Count(st.Rows, "row"), setting.Count(st.Heads, "salt"), setting.Count(len(st.Regions), "region"), ui.Round(st.Dial), ui.Round(st.Scan))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "region\trange\tserver\tscans\trows\tbytes\ttime\tblocks\tdisk reads")
	for _, r := range st.Regions {
		reads := "not reported"
		if r.DiskReads >= 0 {
			reads = fmt.Sprint(r.DiskReads)
		}
		fmt.Fprintf(t, "%s\t[%s, %s)\t%s\t%d\t%d\t%d\t%s\t~%d\t%s\n", r.Region, rowkey.String(r.Start), rowkey.String(r.End), r.Server,
			r.Scans, r.Rows, r.Bytes, ui.Round(r.Took()), r.Blocks, reads)
	}
	t.Flush()
	fmt.Fprintln(w, "blocks are estimated from bytes and the block size; disk reads are the server's count of blocks that were not in its cache")
}

// rowLabel returns the name of a cell's column, which no other column has. Where the qualifier alone could be taken for another column, or for the
// row key, the family precedes it; a backslash that could be taken for the beginning of \xNN is \x5C.
func rowLabel(c *loader.Cell, family string) string {
	name := textOf(c.Qualifier, "")
	if isText(c.Qualifier, "") && strings.Contains(name, `\x`) {
		name = strings.ReplaceAll(name, `\`, `\x5C`)
	}
	if string(c.Family) != family || name == "rowkey" || strings.Contains(name, ":") {
		return textOf(c.Family, "") + ":" + name
	}
	return name
}
