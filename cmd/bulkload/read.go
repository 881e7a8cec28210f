package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"bulkload/internal/cli/rowtext"
	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"

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
