package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type checkOptions struct {
	specFlags
	workFlags
	clusterFlags
	options preflight.Options
	stage   string

	snapshot string
}

func newCheckCmd(g *globals) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check --table TABLE | --job FILE",
		Short: "Check everything a job depends on, before it runs",
		Long: `Check examines the table and its regions, the servers, the right to load, the
staging directory on HDFS, clocks, quotas, the inputs and this machine. For each
problem it says what to do. It loads nothing; it creates a file in the staging
directory and removes it again. A warning does not fail the check. Run makes the
same checks before it begins. With --grants, check prints the rights that the job
needs instead, as one command for an administrator per line. If HBase or HDFS cannot
be asked, the list says that it is not complete, and the exit code is 3.`,
		Example: `  bulkload check --table test:check
  bulkload check --job examples/check.yaml --input /exports/check/20171012 --output json
  bulkload check --job examples/check.yaml --input hdfs:///exports/check --grants`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	o.workFlags.add(cmd.Flags())
	settings.AddFields(cmd.Flags(), spec.OfLoad)
	o.clusterFlags.addReading(cmd.Flags())
	settings.Bind(cmd.Flags(), settings.To{"staging": &o.options.Staging, "load-mode": &o.stage, "timeout": &o.options.Timeout, "grants": &o.options.Grants, "snapshot": &o.snapshot})
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command, g *globals) error {
	given := settings.JobSpec(cmd)
	resolve := given.Resolve
	if given.Table != "" || o.jobFile == "" { // a table can be checked without a whole job
		resolve = given.ResolveTable
	}
	spec, err := resolve()
	if err != nil {
		return err
	}
	o.options.Stage, _ = loader.ParseStage(o.stage) // the setting accepts only valid values
	o.options.Snapshot = o.snapshot != ""
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := listInputs(cmd.Context(), env, &spec); err != nil {
		return err
	}
	if len(spec.Inputs) > 0 {
		if err := checkTables(spec); err != nil {
			return err
		}
	}
	o.options.WorkOptions = o.workOptions(session.LogEvents(env.Log))
	r, err := preflight.RunTables(cmd.Context(), env, spec, o.options)
	if err != nil {
		return err
	}
	r.Checks = spokenChecks(r.Checks)
	show := func(w io.Writer) { printChecks(w, r) }
	if o.options.Grants {
		show = func(w io.Writer) { fmt.Fprintln(w, strings.Join(r.Grants, "\n")) }
	}
	if err := g.Print(cmd.OutOrStdout(), r, show); err != nil || o.options.Grants {
		return cmp.Or(err, r.Unasked)
	}
	if r.Errors > 0 {
		return &fail.Error{Kind: fail.Check, Err: fmt.Errorf("table %s: %d of %s found errors", r.Table, r.Errors, setting.Count(len(r.Checks), "check"))}
	}
	return nil
}

func spokenChecks(checks []preflight.Check) []preflight.Check {
	spoken := make([]preflight.Check, len(checks))
	for i, c := range checks {
		spoken[i] = c.In(settings.Flag)
	}
	return spoken
}

func printChecks(w io.Writer, r *preflight.Report) {
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	marks := map[preflight.Severity]string{preflight.SeverityOK: "ok", preflight.SeverityWarning: "warn", preflight.SeverityError: "ERROR"}
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%-5s  %-*s  %s\n", marks[c.Severity], width, c.Name, c.Message)
		if !c.Hint.IsZero() {
			fmt.Fprintf(w, "%-5s  %-*s  -> %s\n", "", width, "", c.Hint)
		}
	}
	fmt.Fprintf(w, "%s in %s: %s, %s\n", setting.Count(len(r.Checks), "check"), r.Elapsed.Round(time.Millisecond), setting.Count(r.Errors, "error"), setting.Count(r.Warnings, "warning"))
}
