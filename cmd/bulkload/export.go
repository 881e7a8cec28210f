package main

import (
	"cmp"
	"errors"
	"io"
	"runtime"
	"time"

	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/export"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

type exportOptions struct {
	specFlags
	clusterFlags
	choiceFlags
	limitFlags
	state   checkpoint.Options
	to      string
	columns string
	options export.Options
}

func newExportCmd(g *globals) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export TABLE|snapshot:NAME --to DIR --format csv|dump|parquet|jsonl [--job FILE]",
		Short: "Write the rows of a table into files",
		Long: `Export reads a table from its files on HDFS, as of a snapshot, and writes one file for
each region that has rows: part-00000.csv and so on, in the order of the rows. It takes
a snapshot of the table and deletes it at the end; snapshot:NAME is an existing one. By
default it reads no region servers, and HDFS must allow the user to read HBase's
directory. If HDFS denies access to the files, use --read-by scan: region servers read
the table, and each row is complete, as of the moment at which it is read.

With --job, the columns are those of the job file, which loads the files unchanged:
values have the text that the job reads, and NULL and empty values stay distinct as far
as the job distinguishes them. Without --job, the first column is $row, the row key as
HBase prints it, and --columns names the others as family:qualifier; JSON lines have
every cell of a row. Export writes the newest version of a cell. With --versions 3 it
writes the newest three, as one record for each timestamp of a row. The timestamp is in
$timestamp or in the column of the job's cell_timestamp, so that the job loads the
versions again.

--from-key, --to-key and --key-prefix select rows by original keys, --start-row and
others by bytes of row keys; --since, --until and --only select cells by times and
columns.

If the format or the job could not restore a value, such as a separator in a dialect
without quotes, the command fails and names the row's place. The directory must be
empty or missing. A complete export has _manifest.json: the rows, the bytes and the
SHA-256 of each file, and the fields of a job file that reads it. After an error that
would recur, the directory is left empty.

The same command resumes an export that was killed or stopped, and keeps the regions
that are already written. SIGUSR1 pauses it between two regions, SIGUSR2 resumes it.`,
		Example: `  bulkload export check --to hdfs:///exports/check --format parquet --job examples/check.yaml
  bulkload export snapshot:nightly --to /data/check --format csv --job examples/check.yaml --columns id,check_id
  bulkload export ns:orders --to orders --format jsonl
  bulkload export ns:orders --to orders --format csv --columns f:id,f:total
  bulkload export ns:orders --to may --format parquet --job orders.yaml --from-key 20260501 --to-key 20260601`,
		Args: usage.ExactArgs("TABLE|snapshot:NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, args[0]) },
	}
	f := cmd.Flags()
	o.clusterFlags.add(f)
	settings.Bind(f, settings.To{"job": &o.jobFile, "columns": &o.columns, "to": &o.to, "format": (*string)(&o.options.Format)})
	settings.AddField(f, "family", "read_by")
	o.choiceFlags.add(f)
	o.options.Memory = spec.DefaultMemory
	settings.Bind(f, settings.To{"workers": &o.options.Workers, "memory": &o.options.Memory, "only-between": new(string), "versions": &o.asked.Versions})
	addOwnState(f, &o.state)
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command, g *globals, table string) error {
	if o.to == "" || o.options.Format == "" {
		return fail.Usage(settings.AboutFlags(errors.New("export needs --to and --format"), "to", "format"))
	}
	readBy := tablesource.ReadBy(settings.JobSpec(cmd).ReadBy)
	ref, err := exportRef(table)
	if err != nil {
		return fail.Usage(err)
	}
	if err := tablesource.CheckReadBy([]string{ref.String()}, readBy); err != nil {
		return err
	}
	plan, err := o.plan(cmd)
	if err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	start := time.Now()
	if err := ownState(env, &o.state); err != nil {
		return err
	}
	work := build.WorkOptions{Events: session.LogEvents(env.Log)}
	defer o.hold(cmd, env, &work)()
	m, err := export.Do(cmd.Context(), env, export.Request{From: ref, ReadBy: readBy, To: o.to, Plan: plan},
		export.JobOptions{State: o.state, Gate: work.Gate, Events: work.Events})
	if err != nil {
		return err
	}
	return g.Print(cmd.OutOrStdout(), m.Summary(), func(w io.Writer) {
		if g.ForPeople() {
			jobtext.PrintExport(w, m, o.to, time.Since(start))
		}
	})
}

// exportRef parses the argument: a snapshot or a table.
func exportRef(name string) (tablesource.Ref, error) {
	if r, ok, err := tablesource.Parse(name); ok {
		return r, err
	}
	table, err := loader.ParseTableName(name)
	return tablesource.Ref{Table: table}, err
}

func (o *exportOptions) plan(cmd *cobra.Command) (*export.Plan, error) {
	e := o.options
	e.Choice, e.Workers = o.choice(), cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
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
