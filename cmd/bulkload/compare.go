package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/compare"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// exportSide is the argument of compare that stands for the job's inputs.
const exportSide = "export"

type compareOptions struct {
	specFlags
	workFlags
	clusterFlags
	choiceFlags
	limitFlags

	request     compare.Request
	options     compare.Options
	bConf       string
	allVersions bool
}

func newCompareCmd(g *globals) *cobra.Command {
	o := &compareOptions{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say whether two tables are equal, and which rows differ; repair one",
		Long: `Compare reads A and B. Each is a table, snapshot:NAME, a directory of HFiles (with a
slash in it), or the word export: the inputs of the job file, with the keys and cells
that run would make from them. Tables are read from their files, through snapshots
that are deleted at the end; with --read-by scan, region servers read them. Without
--repair-b, compare changes no table.

It exits with 0 if both have the same rows and cells, and with 8 if not. It compares
what readers see: the newest version of each column. With --timestamps, a cell with
another timestamp differs; with --all-versions, all versions are compared. --only,
--since, --until and a range of rows (--from-key, --start-row) limit the comparison.
--differences FILE writes the rows that differ, with their cells, as JSON lines. They
are data.

--b-conf DIR is the configuration of B's cluster, if that is another one. With
--new-key, A's rows are compared under the keys that rekey gives them.

With --repair-b, compare writes the differences to table B: A's cells, and delete
markers for cells that A does not have. Then it compares both again.

The same command resumes a comparison that was killed, by ranges of rows.`,
		Example: `  bulkload compare check check_copy
  bulkload compare snapshot:before check --timestamps --differences differences.jsonl
  bulkload compare export check --job examples/check.yaml --input /exports/check.csv
  bulkload compare check check --b-conf /etc/hbase-dr/conf --repair-b
  bulkload compare check check32 --new-key 'salt(check_id, 32) + md5hex(check_id) + id'`,
		Args: usage.ExactArgs("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, args) },
	}
	f := cmd.Flags()
	o.addTable(f)
	settings.AddFields(f, spec.OfText)
	settings.AddField(f, "inputs", "inputs_from", "format", "columns", "empty", "parse", "read_by", "filter", "duplicates", "versions", "bad_records", "expect_records", "allow_empty", "timestamp")
	o.workFlags.add(f)
	o.clusterFlags.addReading(f)
	o.choiceFlags.add(f)
	o.limitFlags.add(f)
	settings.Bind(f, settings.To{"reject-file": &o.work.RejectFile, "all-versions": &o.allVersions, "timestamps": &o.request.Timestamps, "new-key": &o.request.Key, "old-key": &o.request.OldKey,
		"b-conf": &o.bConf, "digests": &o.options.Digests, "differences": &o.options.Differences, "limit": &o.options.Limit, "repair-b": &o.request.Repair, "phoenix-indexes": &o.options.PhoenixIndexes, "staging": &o.options.Staging})
	addOwnState(f, &o.options.State)
	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command, g *globals, args []string) (err error) {
	if err := o.resolve(cmd); err != nil {
		return fail.Usage(err)
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	o.request.A.Env, o.request.B.Env = env, env
	if o.bConf != "" {
		if o.request.B.Conf, err = filepath.Abs(o.bConf); err != nil {
			return fail.Usage(err)
		}
		if o.request.B.Env, err = env.Other(o.request.B.Conf); err != nil {
			return err
		}
		defer o.request.B.Env.Close()
	}
	if err := o.sides(cmd, env, args); err != nil {
		return err
	}
	if o.request.Choice, err = o.chosen(cmd); err != nil {
		return err
	}
	if err := ownState(env, &o.options.State); err != nil {
		return err
	}
	o.options.WorkOptions = o.workOptions(session.LogEvents(env.Log))
	defer o.hold(cmd, env, &o.options.WorkOptions)()
	r, err := compare.Run(cmd.Context(), o.request, o.options)
	if err != nil {
		return err
	}
	if err := g.Print(cmd.OutOrStdout(), r, func(w io.Writer) {
		if g.ForPeople() {
			jobtext.PrintComparison(w, r)
		}
	}); err != nil || r.Equal {
		return err
	}
	return fail.Errorf(fail.Verify, "%s and %s differ: %s", r.A.Name, r.B.Name, r.Found)
}

func (o *compareOptions) resolve(cmd *cobra.Command) (err error) {
	o.request.Versions = 1
	if o.allVersions {
		o.request.Versions = 0
	}
	o.options.ReadBy = tablesource.ReadBy(settings.JobSpec(cmd).ReadBy)
	if cmd.Flags().Changed("limit") && o.options.Differences == "" {
		err = settings.AboutFlags(errors.New("--limit needs --differences: it is the number of rows in that file"), "limit", "differences")
	}
	return err
}

func (o *compareOptions) sides(cmd *cobra.Command, env *cluster.Env, args []string) error {
	if args[0] == exportSide && args[1] == exportSide {
		return fail.Usage(errors.New("both sides are the export of the job file: name a table, a snapshot or a directory of HFiles for one of them"))
	}
	for i, s := range []*compare.Side{&o.request.A, &o.request.B} {
		switch {
		case args[i] == exportSide:
			js, err := o.load(cmd)
			if err == nil {
				err = needInputs(js)
			}
			if err == nil {
				err = listInputs(cmd.Context(), env, &js)
			}
			if err != nil {
				return err
			}
			s.Export = &js
		case strings.Contains(args[i], "/"):
			s.Dir = args[i]
		default:
			ref, err := exportRef(args[i])
			if err != nil {
				return fail.Usage(err)
			}
			s.Table, s.Snapshot = ref.Table, ref.Snapshot
		}
	}
	return nil
}

func (o *compareOptions) chosen(cmd *cobra.Command) (c choice.Choice, err error) {
	asked, k := o.choice(), choice.Keys{Name: setting.Key}
	if given := settings.JobSpec(cmd); asked.ByKey() && given.Key != "" {
		js, err := given.Resolve()
		if err != nil {
			return c, err
		}
		k.Spec = js.RowKey()
		if k.Modulus, err = o.request.Modulus(cmd.Context(), js); err != nil {
			return c, err
		}
	}
	return asked.Resolve(k)
}
