package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/export"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type exportOptions struct {
	specFlags
	clusterFlags
	choiceFlags
	to      string
	columns string
	format  string
	readBy  string
	workers int
	memory  spec.Size
}

func newExportCmd(g *globals) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export TABLE|snapshot:NAME --to DIR --format csv|dump|parquet|jsonl [--job FILE]",
		Short: "Write the rows of a table into files",
		Long: `Export reads a table from its files on HDFS, as of a snapshot, and writes one file for
each region that has rows: part-00000.csv and so on, in the order of the rows. Of a
table it takes a snapshot for the time of the command; snapshot:NAME is one that is
there. The region servers are not read from, and HDFS must let the user read HBase's
directory. Where it does not, --read-by scan has region servers read the table: each
row is whole, and rows are of the moment at which they are read.

With --job the columns are those of the job file, which loads the files as they are:
values have the text that the job reads, and NULL and empty values stay apart as far
as the job keeps them apart. Without it the first column is $row, the row key as HBase
prints it, and --columns names the others as family:qualifier; JSON lines have every
cell of a row. Of several versions the newest is written.

--from-key, --to-key and --key-prefix take rows by original keys, --start-row and others
by bytes of row keys; --since, --until and --only take cells by times and columns.

What the format or the job could not bring back, such as a separator in a value of a
dialect without quotes, ends the command with the row's place. The directory must be
empty or missing. When it is complete it has _manifest.json, with how many rows and
bytes each file has, its SHA-256, and the fields of a job file that reads it; after an
error nothing is left in it.`,
		Example: `  bulkload export check --to hdfs:///exports/check --format parquet --job examples/check.yaml
  bulkload export snapshot:nightly --to /data/check --format csv --job examples/check.yaml --columns id,check_id
  bulkload export ns:orders --to orders --format jsonl
  bulkload export ns:orders --to orders --format csv --columns f:id,f:total
  bulkload export ns:orders --to may --format parquet --job orders.yaml --from-key 20260501 --to-key 20260601`,
		Args: exactArgs("TABLE|snapshot:NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, args[0]) },
	}
	f := cmd.Flags()
	o.clusterFlags.add(f)
	settings.Bind(f, settings.To{"job": &o.jobFile, "columns": &o.columns, "to": &o.to, "format": &o.format})
	settings.AddField(f, "family", "read_by")
	o.choiceFlags.add(f)
	settings.Bind(f, settings.To{"workers": &o.workers})
	o.memory = spec.DefaultMemory
	settings.Bind(f, settings.To{"memory": &o.memory})
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command, g *globals, table string) error {
	if o.to == "" || o.format == "" {
		return usageError{settings.AboutFlags(errors.New("export needs --to and --format"), "to", "format")}
	}
	o.readBy, _ = cmd.Flags().GetString("read-by")
	ref, err := exportRef(table)
	if err != nil {
		return usageError{err}
	}
	if err := tablesource.CheckReadBy([]string{ref.String()}, tablesource.ReadBy(o.readBy)); err != nil {
		return err
	}
	plan, err := o.plan(cmd, g)
	if err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	start := time.Now()
	m, err := o.write(cmd.Context(), env, ref, plan)
	if err != nil {
		return err
	}
	return g.print(cmd.OutOrStdout(), m.Summary(), func(w io.Writer) {
		if !g.logs.quiet {
			printExport(w, m, o.to, time.Since(start))
		}
	})
}

// exportRef is what the argument names.
func exportRef(name string) (tablesource.Ref, error) {
	if r, ok, err := tablesource.Parse(name); ok {
		return r, err
	}
	table, err := loader.ParseTableName(name)
	return tablesource.Ref{Table: table}, err
}

// plan is what the flags and the job file ask for.
func (o *exportOptions) plan(cmd *cobra.Command, g *globals) (*export.Plan, error) {
	e := export.Options{Format: export.Format(o.format), Workers: o.workers, Memory: o.memory, Choice: o.choice()}
	e.OnFile = func(f export.File) {
		g.logger().Debug("file written", "file", f.Name, "rows", f.Digest.Rows, "bytes", f.Bytes)
	}
	if e.Workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	if cmd.Flags().Changed("columns") {
		e.Columns = settings.SplitList(o.columns)
	}
	if o.jobFile != "" {
		given := settings.JobSpec(cmd)
		job, err := given.ResolveTable()
		if err != nil {
			return nil, err
		}
		e.Job = &job
	}
	return export.Compile(e)
}

// write exports what the argument names; a snapshot that was taken for it is deleted.
func (o *exportOptions) write(ctx context.Context, env *cluster.Env, ref tablesource.Ref, plan *export.Plan) (*export.Manifest, error) {
	fsys, dir, err := env.Resolve(o.to)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	options := tablesource.Options{By: tablesource.ReadBy(o.readBy)}
	var own []export.Snapshot
	if ref.Snapshot == "" && options.By != tablesource.ByScan {
		options.Name, options.Created = tablesource.NewName(ref.Table, now), now.UnixMilli()
		own = append(own, export.Snapshot{Table: ref.Table.String(), Name: options.Name, Created: options.Created})
	}
	target, err := export.Begin(ctx, fsys, dir, own...)
	if err != nil {
		return nil, err
	}
	if err := abandon(ctx, env, target.Left); err != nil {
		return nil, err
	}
	if target.Complete != nil {
		table := ""
		if ref.Snapshot == "" {
			table = ref.Table.String()
		}
		return target.Complete, target.End(ctx, plan, table, ref.Snapshot)
	}
	source, err := openSource(ctx, env, ref, options)
	if err != nil {
		return nil, errors.Join(err, target.Remove(ctx))
	}
	source.Report(env.Log.Warn)
	m, err := plan.Write(ctx, exportInput(source), target)
	closed := source.Close(ctx)
	switch {
	case err != nil:
		return nil, errors.Join(tablesource.ByScans(err), closed, target.Remove(ctx))
	case closed != nil:
		return nil, fmt.Errorf("the files in %s are complete, but %w", o.to, closed)
	}
	return m, target.Finish(ctx)
}

// abandon deletes the snapshots of exports that were killed.
func abandon(ctx context.Context, env *cluster.Env, left []export.Snapshot) error {
	for _, s := range left {
		table, err := loader.ParseTableName(s.Table)
		if err == nil {
			err = tablesource.Abandon(ctx, env, table, s.Name, s.Created)
		}
		if err != nil {
			return fail.With(fail.Load, err)
		}
	}
	return nil
}

// openSource opens what is read. It deletes its own snapshot if ctx ends.
func openSource(ctx context.Context, env *cluster.Env, ref tablesource.Ref, o tablesource.Options) (*tablesource.Source, error) {
	source, err := tablesource.Open(ctx, env, ref, o)
	if err != nil && ctx.Err() != nil && o.Name != "" {
		err = errors.Join(err, tablesource.Abandon(ctx, env, ref.Table, o.Name, o.Created))
	}
	return source, err
}

// exportInput is what is read, a snapshot's files or a table.
func exportInput(source *tablesource.Source) export.Input {
	s := source.Scanned
	if s == nil {
		return export.OfSnapshot(source.Snapshot)
	}
	return export.Input{Table: s.Table.String(), Families: s.Families, Created: s.Since(), Regions: make([]string, len(s.Starts)), Room: tablesource.ScanMemory,
		Splits: s.Starts[1:],
		Each: func(ctx context.Context, n int, families []string, c choice.Choice, do func(context.Context, int, export.Cells) error) error {
			return s.Each(ctx, n, tablesource.RowView{Families: families, Choice: c}, func(ctx context.Context, i int, sc *tablesource.Scan) error { return do(ctx, i, sc) })
		}}
}

// printExport says what was written.
func printExport(w io.Writer, m *export.Manifest, to string, took time.Duration) {
	as := "from snapshot " + m.Snapshot + ","
	if m.Snapshot == "" {
		as = "read by scans since"
	}
	fmt.Fprintf(w, "done: table %s %s %s, to %s in %s\n", m.Table, as, m.Created.Format(time.RFC3339), to, ui.Round(took))
	fmt.Fprintf(w, "  %s in %s, %s\n", m.Digest, setting.Count(len(m.Files), "file"), ui.Bytes(m.Bytes))
	if m.NoCells > 0 {
		fmt.Fprintf(w, "  %s have no cell in these columns and were left out\n", setting.Count(m.NoCells, "row"))
	}
	if m.LeftOver > 0 {
		fmt.Fprintf(w, "  %s are in no exported column and were left out\n", setting.Count(m.LeftOver, "cell"))
	}
	if what := m.Choice.String(); what != "" {
		fmt.Fprintf(w, "  chosen: %s\n", what)
	}
	if len(m.Columns) > 0 {
		fmt.Fprintf(w, "  columns: %s\n", strings.Join(m.Columns, ", "))
	}
}
