package main

import (
	"errors"
	"fmt"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/planview"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/rekey"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

type rekeyOptions struct {
	workFlags
	clusterFlags
	limitFlags
	planFlags
	choiceFlags
	engineFlags
	session.Watch

	request     rekey.Request
	job         rekey.RunOptions
	from, to    string
	splits, way string
	skipCode    bool
	plan        bool
}

func newRekeyCmd(g *globals) *cobra.Command {
	o := &rekeyOptions{}
	cmd := &cobra.Command{
		Use:   "rekey --from TABLE --to TABLE --key SPEC",
		Short: "Give the rows of a table new keys, in another table",
		Long: `Rekey reads the HFiles of a table through a snapshot, makes each row's new key from
its columns or from its old key ($row), sorts the rows by the regions of another table
and loads them there, with their families, qualifiers, timestamps, versions and tags.
The new key names columns as ` + "`family:qualifier`" + `, in back quotes, or by the
qualifier alone if only one family has it. With --old-key, the spec of the old keys, it
can also name the columns of the old keys.

The other table is created like the first one and split for the new keys, or exists
and is empty. Two rows with the same new key fail the job. The old table is only read.

A second pass copies what was written in the meantime: --since TIME takes the cells
from that time on. Each pass prints that time at its end. Rows that are deleted in the
meantime are not noticed.

--start-row, --stop-row and --row-prefix copy a part of the table; with --old-key,
--from-key, --to-key and --key-prefix do so by original keys. --until, --only and
--versions select among the cells of each row; its new key is made from the newest
cells of its columns, selected or not. The selection of a job that has begun is fixed:
another one needs --restart or another --job-id.

With --plan nothing is made or loaded: rekey reads a sample of the snapshot, or all of
it with --exact, and reports the rows and bytes of each region of the new table, the
duration of the job, and problems of the new key. The regions are those that the job
would use, or with --suggest N, N regions of about the same number of bytes.

With --plan --out FILE several processes build the HFiles: rekey takes the snapshot,
makes the table and writes the plan for build --share and merge. The same command
without --plan and --out then loads their files and verifies the table. With --engine
yarn, one MapReduce job builds them.`,
		Example: `  bulkload rekey --from check --to check32 --key 'salt(check_id, 32) + md5hex(check_id) + id'
  bulkload rekey --from check --to check32 --key 'salt(check_id, 32) + md5hex(check_id) + id' --since 1700000000000
  bulkload rekey --from check --to check2 --old-key 'salt(check_id, 10) + md5hex(check_id) + id' --key 'md5hex(id) + check_id'
  bulkload rekey --from check --to check32 --key 'reverse(check_id) + id' --plan --suggest 20 > splits.txt`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.planFlags.add(f, "with --plan, ")
	settings.Bind(f, settings.To{
		"from": &o.from, "to": &o.to, "key": &o.request.Key, "old-key": &o.request.OldKey, "splits": &o.splits, "versions": &o.request.Versions, "snapshot": &o.request.Snapshot, "duplicates": &o.request.Duplicates,
		"bad-records": &o.request.BadRecords, "verify": &o.request.Verify, "reject-file": &o.work.RejectFile, "plan": &o.plan, "out": &o.job.PlanTo, "load-concurrency": &o.calls, "staging": &o.job.Staging,
		"keep-staging": &o.job.Keep, "max-files": &o.job.MaxFiles, "load-mode": &o.way, "phoenix-indexes": &o.job.PhoenixIndexes, "skip-exit-code": &o.skipCode,
	})
	o.choiceFlags.add(f)
	o.workFlags.add(f)
	o.clusterFlags.add(f)
	o.limitFlags.add(f)
	o.engineFlags.add(f)
	o.Watch.AddResult(f)
	addOwnState(f, &o.job.State)
	return cmd
}

func (o *rekeyOptions) resolve(cmd *cobra.Command) (err error) {
	for _, t := range []struct {
		flag, name string
		to         *loader.TableName
	}{{"from", o.from, &o.request.From}, {"to", o.to, &o.request.To}} {
		if t.name == "" {
			return fail.Usage(fmt.Errorf("no table: name it with --%s", t.flag))
		}
		if *t.to, err = loader.ParseTableName(t.name); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--%s: %w", t.flag, err), t.flag))
		}
	}
	if o.request.Key == "" {
		return fail.Usage(errors.New("no key: give the spec of the new keys with --key"))
	}
	o.request.Choice = o.choice()
	if o.request.Splits, err = splitsFlag(cmd.Context(), o.splits); err != nil {
		return err
	}
	switch {
	case !o.plan && o.job.PlanTo != "":
		err = fail.Usage(settings.AboutFlags(errors.New("--out needs --plan: it names the file for the plan for shares"), "out", "plan"))
	case !o.plan:
		err = o.goWith(cmd, "")
	case o.job.PlanTo != "":
		err = o.goWith(cmd, ", and not with --out: a plan for shares has no estimates")
	}
	return errors.Join(err, o.planFlags.check())
}

func (o *rekeyOptions) run(cmd *cobra.Command, g *globals) error {
	if err := o.resolve(cmd); err != nil {
		return err
	}
	var err error
	o.job.YARN, err = o.engineFlags.settings(cmd.Flags())
	if err == nil && o.job.YARN != nil && o.plan && settings.Of(cmd).Given("engine") {
		err = fail.Usage(settings.AboutFlags(errors.New("--plan is for a build by this process or by shares: leave --engine out"), "plan", "engine"))
	}
	if err != nil {
		return err
	}
	o.job.Stage, _ = loader.ParseStage(o.way) // the setting accepts only valid values
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	if o.job.PlanTo != "" {
		return o.writePlan(cmd, g, env)
	}
	if o.plan {
		work := o.workOptions(session.LogEvents(env.Log))
		work.Events.OnRows = logRows(env.Log)
		e, err := rekey.Estimate(cmd.Context(), env, o.request, o.options(work))
		if err != nil {
			return err
		}
		return o.show(cmd, g, planview.Plan{Estimate: e})
	}
	if err := ownState(env, &o.job.State); err != nil {
		return err
	}
	s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "rekey", Spec: spec.Spec{Table: o.to, Key: o.request.Key}, Env: env}, &o.Watch)
	if err != nil {
		return err
	}
	o.job.WorkOptions, o.job.LoadConcurrency = o.workOptions(s.Events()), o.calls
	defer o.hold(cmd, env, &o.job.WorkOptions)()
	r, err := rekey.Run(cmd.Context(), env, o.request, o.job)
	if err := s.End(r, err); err != nil {
		return err
	}
	if g.ForPeople() {
		jobtext.PrintRekey(cmd.OutOrStdout(), r, o.request)
	}
	if r.Already && o.skipCode {
		return ending.ErrAlready
	}
	return nil
}

// writePlan takes the snapshot, creates the table, and writes the plan for shares.
func (o *rekeyOptions) writePlan(cmd *cobra.Command, g *globals, env *cluster.Env) error {
	if err := ownState(env, &o.job.State); err != nil {
		return err
	}
	plan := rekey.RunOptions{PlanTo: o.job.PlanTo, PhoenixIndexes: o.job.PhoenixIndexes}
	plan.WorkOptions, plan.State, plan.Staging = o.workOptions(session.LogEvents(env.Log)), o.job.State, o.job.Staging
	r, err := rekey.Run(cmd.Context(), env, o.request, plan)
	if err != nil || !g.ForPeople() {
		return err
	}
	if r.Already {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "the job was done before: nothing to do (--restart does it again)")
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), `plan for shares in %[1]s
1. bulkload build --plan %[1]s --share K/N --out DIR, for each share
2. bulkload merge --plan %[1]s --shares DIR
3. this command again, without --plan and --out: it loads the HFiles and verifies table %[2]s
`, o.job.PlanTo, o.request.To)
	return err
}
