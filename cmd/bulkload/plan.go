package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/planview"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/cli/usage"
	"bulkload/internal/formats/spool"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

type planOptions struct {
	specFlags
	workFlags
	clusterFlags
	engineFlags
	planFlags
	splits string
	tables []string
	out    string
	split  spec.Size
	into   string
}

func newPlanCmd(g *globals) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan --input PATH…",
		Short: "Estimate what a load takes, what each region gets, and what is wrong with the key",
		Long: `Plan reads a sample of the input, sorts and encodes it as run would, and
extrapolates the cost to the whole input. It counts the keys of a larger sample, or
of all the input with --exact, shows the rows of each region, and warns of skew,
frequent query keys, regions that would split, long keys and long names. It loads
nothing and keeps nothing.

The regions are those of the table; or those of --splits, which needs no cluster; or
with --suggest N, N regions of about the same number of bytes. Plan then prints their
split points one per line, and the plan itself on standard error.

A job of several tables is estimated as it is built: with one reading, in the memory
of one sort, with the regions and files of each table. --suggest finds N regions for
each table, and prints TABLE=POINTS for each, the form that --table-splits takes.

The time is that of reading, sorting and writing. Loading and verifying take more
time, and so does a connection to HDFS that is slower than the encoding.

With --replace, plan makes the keys of all the input, looks for them in a snapshot
of the table, and says how many rows run would delete and whether --max-deletes
allows that. With --splits it reads no table, so this is not known before the run.
With --into TABLE too, the plan is for the new table, which gets the old one's
regions.

With --engine yarn, plan also says which resources of YARN run --engine yarn needs.

With --out, plan writes the plan to a file, with which several processes build the
HFiles together: build --plan FILE --share K/N, and merge. The file has the job, the
regions, the timestamp and the input files as they are now.`,
		Example: `  bulkload plan --job examples/check.yaml --input /exports/check/20171012
  bulkload plan --job examples/check.yaml --input check.csv --splits 1,2,3,4,5,6,7,8,9 --svg regions.svg
  bulkload plan --key 'check_id + id' --input check.csv --suggest 20 > splits.txt
  bulkload plan --key 'check_id + id' --input check.csv --splits @splits.txt --exact
  bulkload plan --job examples/check.yaml --input /exports/check --splits @splits.txt --out /shared/check.plan`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	settings.AddField(cmd.Flags(), "query", "replace", "max_deletes")
	o.workFlags.add(cmd.Flags())
	o.clusterFlags.addReading(cmd.Flags())
	f := cmd.Flags()
	o.engineFlags.addPlan(f)
	o.planFlags.add(f, "")
	o.split = 8 << 20
	settings.Bind(f, settings.To{"splits": &o.splits, "into": &o.into, "table-splits": &o.tables, "split-size": &o.split, "out": &o.out})
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command, g *globals) (err error) {
	spec, err := o.load(cmd)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := needInputs(spec); err != nil {
		return err
	}
	onYARN, err := o.engineFlags.settings(cmd.Flags())
	if err != nil {
		return err
	}
	if o.into != "" || spec.Table != "" { // otherwise there is no table
		if err := job.CheckReplace(job.RunOptions{Into: o.into}, spec); err != nil {
			return err
		}
	}
	auto := o.into != "" && o.splits == autoSplits
	if auto {
		o.splits = ""
	}
	points, err := splitsFlag(cmd.Context(), o.splits)
	if err != nil {
		return err
	}
	further, err := readTableSplits(cmd.Context(), o.tables, spec)
	if err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := listInputs(cmd.Context(), env, &spec); err != nil {
		return err
	}
	if err := o.checkTables(spec); err != nil {
		return err
	}
	unmount, err := mountFiles(cmd.Context(), env, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(cmd.Context())) }()
	w := o.options(o.workOptions(session.LogEvents(env.Log)))
	w.TableSplits = further
	if auto {
		now, _, err := estimate.Regions(cmd.Context(), env, spec, nil)
		if err != nil {
			return err
		}
		if n := len(now.Splits); w.Suggest == 0 && n > 0 {
			w.Suggest = n + 1
		}
	} else if cmd.Flags().Changed("splits") || spec.Table == "" || o.estimate.Suggest > 0 && !namesHBase(env.Conf) {
		w.Splits = &points
	}
	w.Events.OnRows = logRows(env.Log)
	e, err := estimate.Run(cmd.Context(), env, spec, w)
	if err != nil {
		return err
	}
	replaces, err := replace.PlanFor(cmd.Context(), env, spec, o.into, w.WorkOptions, w.Splits == nil)
	if err != nil {
		return err
	}
	if o.into != "" {
		e.Table = o.into
	}
	if o.out != "" {
		if err := o.write(cmd.Context(), env, spec, w); err != nil {
			return err
		}
	}
	return o.show(cmd, g, planview.Plan{Estimate: e, YARN: predicted(onYARN, e), Replace: replaces})
}

func (o *planOptions) check() error {
	switch {
	case o.split < 4<<10 || o.split > 1<<30:
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--split-size %s is outside 4KiB..1GiB", o.split), "split-size"))
	case o.out != "" && o.into != "":
		return fail.Usage(settings.AboutFlags(errors.New("--out plans shares, which make no table: give --into to the load of their files"), "out", "into"))
	case o.out != "" && o.estimate.Suggest > 0:
		return fail.Usage(settings.AboutFlags(errors.New("--out needs known regions, and --suggest looks for them: give --splits instead"), "out", "suggest"))
	case len(o.tables) > 0 && o.splits == "":
		return fail.Usage(settings.AboutFlags(errors.New("--table-splits needs --splits: give split points of all tables, or of none"), "table-splits", "splits"))
	}
	return o.planFlags.check()
}

// checkTables refuses settings that are for one table only, or for one process only.
func (o *planOptions) checkTables(s spec.Job) error {
	switch {
	case o.out != "":
		// A snapshot that plan takes is deleted before a share begins.
		if i := slices.IndexFunc(s.Inputs, func(name string) bool { return strings.HasPrefix(name, cluster.TableScheme) }); i >= 0 {
			return fail.Errorf(fail.Config, "input %s: %w", s.Inputs[i], abilities.Refusal(abilities.Input, abilities.Shares))
		}
		return s.Divisible(abilities.Shares)
	case o.engine == "yarn":
		return s.Divisible(abilities.YARN)
	}
	return nil
}

func (o *planOptions) write(ctx context.Context, env *cluster.Env, s spec.Job, w estimate.Options) error {
	shapes, _, err := estimate.Shapes(ctx, env, s, w)
	if err != nil {
		return err
	}
	p, err := share.Make(ctx, env, s, shapes, build.WorkOptions{Workers: w.Workers, Memory: w.Memory, SplitSize: int64(o.split)})
	if err != nil {
		return err
	}
	if p, err = p.Write(ctx, env, o.out, w.Splits == nil); err != nil {
		return err
	}
	env.Log.Info("plan for shares", "file", o.out, "regions", p.Regions(), "files", len(p.Inputs), "splits", len(p.Parts), "timestamp", p.Timestamp)
	return nil
}

func splitsFlag(ctx context.Context, list string) ([][]byte, error) {
	points, err := readSplits(ctx, list)
	if err != nil {
		return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--splits: %w", err), "splits"))
	}
	return points, nil
}

// readSplits parses a list of split points, or reads the file that is named after an @.
func readSplits(ctx context.Context, list string) ([][]byte, error) {
	name, file := strings.CutPrefix(list, "@")
	if !file {
		return partition.ParsePlan(list)
	}
	b, err := spool.ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	points, err := partition.ParsePoints(lines)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return points, nil
}

// logRows returns a function that logs the progress of a count every few seconds.
func logRows(log *slog.Logger) func(rows, bytes int64) {
	const every = 5 * time.Second
	var rows, bytes, told atomic.Int64
	start := time.Now()
	return func(r, b int64) {
		r, b = rows.Add(r), bytes.Add(b)
		if now, last := int64(time.Since(start)/every), told.Load(); now > last && told.CompareAndSwap(last, now) {
			log.Info("counted", "rows", r, "input", setting.Bytes(b))
		}
	}
}

// namesHBase reports whether a configuration names an HBase cluster, even if it does so wrongly.
func namesHBase(conf *hdfsio.Conf) bool {
	registry, err := cluster.FindRegistry(conf)
	return err != nil || registry.Quorum != "" || len(registry.Servers) > 0
}

// planFlags are the flags of every command that has a plan. They select the regions of the plan, its warnings, and
// its output.
type planFlags struct {
	estimate estimate.Options
	svg      string
}

// add registers the flags. The text with precedes each flag's usage.
func (o *planFlags) add(f *pflag.FlagSet, with string) {
	own := settings.To{"exact": &o.estimate.Exact, "suggest": &o.estimate.Suggest, "skew": &o.estimate.Skew, "max-file-size": &o.estimate.MaxRegion, "svg": &o.svg}
	settings.Bind(f, own)
	for flag := range own {
		f.Lookup(flag).Usage = with + f.Lookup(flag).Usage
	}
}

func (o *planFlags) check() error {
	if n := o.estimate.Suggest; n < 0 || n == 1 || n > 100_000 {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--suggest %d is outside 2..100000", n), "suggest"))
	}
	return nil
}

// goWith refuses the flags where the flag that asks for a plan is missing, or where a flag that excludes them is
// given.
func (o *planFlags) goWith(cmd *cobra.Command, but string) (err error) {
	var own pflag.FlagSet
	(&planFlags{}).add(&own, "")
	own.VisitAll(func(one *pflag.Flag) {
		if settings.Of(cmd).Given(one.Name) {
			err = errors.Join(err, fail.Usage(settings.AboutFlags(fmt.Errorf("--%s goes with --plan%s", one.Name, but), one.Name, "plan")))
		}
	})
	return err
}

func (o *planFlags) options(w build.WorkOptions) estimate.Options {
	e := o.estimate
	e.WorkOptions = w
	return e
}

// show draws a plan and prints it as text or JSON. If split points were suggested, they are printed instead of the text, which then goes to standard
// error.
func (o *planFlags) show(cmd *cobra.Command, g *globals, p planview.Plan) error {
	for _, t := range p.All() {
		t.Warnings = spokenChecks(t.Warnings)
	}
	if o.svg != "" {
		if err := p.Draw(o.svg); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if o.estimate.Suggest == 0 || g.JSON() {
		return g.Print(out, p, func(w io.Writer) { p.Print(w, ui.Width(out)) })
	}
	if g.ForPeople() {
		p.Print(ui.Plain(cmd.ErrOrStderr()), ui.Width(cmd.ErrOrStderr()))
	}
	p.PrintSplits(out)
	return nil
}
