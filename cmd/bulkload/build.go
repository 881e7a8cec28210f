package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type buildOptions struct {
	specFlags
	workFlags
	clusterFlags
	limitFlags
	session.Watch
	out    string
	splits string
	tables []string // split points of further tables
	plan   string
	share  string
}

func newBuildCmd(g *globals) *cobra.Command {
	o := &buildOptions{}
	cmd := &cobra.Command{
		Use:   "build {--input PATH… | --plan FILE --share K/N} --out DIR",
		Short: "Build HFiles from exports; no cluster is needed",
		Long: `Build reads exports and writes one HFile for each range between two split points
to DIR/FAMILY, and a manifest next to them. Without --splits there is one range,
and the salt of a key needs --salt-buckets. The family's settings default to SNAPPY,
FAST_DIFF and ROW. If the job file lists further tables, the input is read once, and
the files of each table are in DIR/TABLE/FAMILY.

With --plan and --share, build reads one of N shares of the input and writes its
sorted rows to DIR, which all shares have in common. Merge makes the HFiles from
them. The same command repeats a share that failed or was killed.`,
		Example: `  bulkload build --job examples/check.yaml --input check.csv --out hfiles --splits 1,2,3,4,5,6,7,8,9
  bulkload build --plan /shared/check.plan --share 3/7 --out /shared/check.rows`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	o.workFlags.add(cmd.Flags())
	o.addLeftOut(cmd.Flags())
	o.clusterFlags.addReading(cmd.Flags())
	o.limitFlags.add(cmd.Flags())
	o.Watch.Add(cmd.Flags())
	settings.Bind(cmd.Flags(), settings.To{"out": &o.out, "splits": &o.splits, "table-splits": &o.tables, "plan": &o.plan, "share": &o.share})
	return cmd
}

func (o *buildOptions) run(cmd *cobra.Command, g *globals) (err error) {
	ctx := cmd.Context()
	if o.plan != "" || o.share != "" {
		return o.runShare(cmd, g)
	}
	js, err := o.load(cmd)
	if err != nil {
		return err
	}
	if err := needInputs(js); err != nil {
		return err
	}
	if o.out == "" {
		return fail.Usage(fmt.Errorf("no output directory: name one with --out"))
	}
	splits, err := splitsFlag(cmd.Context(), o.splits)
	if err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := listInputs(ctx, env, &js); err != nil {
		return err
	}
	unmount, err := mountTables(ctx, env, js)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(ctx)) }()
	shapes, err := o.shapes(cmd.Context(), js, splits)
	if err != nil {
		return err
	}
	if err := build.KnowsSalts(js, shapes); err != nil {
		return err
	}
	s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "build", Spec: js.Spec(), Out: o.out, Env: env}, &o.Watch)
	if err != nil {
		return err
	}
	work := o.workOptions(s.Events())
	if work.RejectFile == "" && js.BadRecords != "" {
		if work.RejectFile, err = o.rejects(env); err != nil {
			return err
		}
	}
	defer o.hold(cmd, env, &work)()
	m, err := build.Directories(ctx, env, js, shapes, o.out, work)
	r := result.OfTables(js.Targets(), m)
	if err := s.End(r, err); err != nil {
		return err
	}
	if g.ForPeople() {
		printFiles(cmd.OutOrStdout(), js, m, o.out)
	}
	return s.Summarize(cmd.OutOrStdout())
}

// shapes returns the shapes of the job's targets. Split points come from the flags, settings from the job file.
func (o *buildOptions) shapes(ctx context.Context, js spec.Job, splits [][]byte) ([]build.Shape, error) {
	points, err := readTableSplits(ctx, o.tables, js)
	if err != nil {
		return nil, err
	}
	var shapes []build.Shape
	for i, t := range js.Targets() {
		family, err := t.ApplyTo(spec.DefaultFamily(t.FamilyName()))
		if err != nil {
			return nil, err
		}
		own := splits
		if i > 0 {
			own = points[t.Table]
		}
		shapes = append(shapes, build.Shape{Families: []spec.Family{family}, Splits: own})
	}
	return shapes, nil
}

// readTableSplits reads the split points of further tables, by name.
func readTableSplits(ctx context.Context, list []string, js spec.Job) (map[string][][]byte, error) {
	points := map[string][][]byte{}
	for _, text := range list {
		name, list, ok := strings.Cut(text, "=")
		_, twice := points[name]
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("want TABLE=POINTS")
		case twice:
			err = fmt.Errorf("table %s is given twice", name)
		default:
			points[name], err = readSplits(ctx, list)
		}
		if err != nil {
			return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--table-splits %s: %w", text, err), "table-splits"))
		}
	}
	for name := range points {
		if !slices.ContainsFunc(js.Targets()[1:], func(t spec.Target) bool { return t.Table == name }) {
			return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--table-splits: the job file has no further table named %s", name), "table-splits"))
		}
	}
	return points, nil
}

// rejects returns the default path for the bad records of a build. It is next to the output directory, since the
// contents of that are loaded. If the output is on HDFS, it is a file in the current directory.
func (o *buildOptions) rejects(env *cluster.Env) (string, error) {
	l, err := env.Conf.Resolve(o.out)
	if err != nil {
		return "", err
	}
	name := l.Path
	if !l.Local() {
		const longest = 120 // length limit of file names
		name = strings.ReplaceAll(strings.Trim(name, "/"), "/", "_")
		name = name[max(0, len(name)-longest):]
	}
	if name, err = filepath.Abs(name + "." + job.RejectsName); err != nil {
		return "", err
	}
	return name, os.MkdirAll(filepath.Dir(name), 0o755) // with the mode of the output directory's parents
}

// workOptions returns the options that the flags give, with absolute names of files.
func (w *workFlags) workOptions(e progress.Events) build.WorkOptions {
	o := w.work
	o.Events = e
	for _, file := range []*string{&o.RejectFile, &o.FilteredFile, &o.DuplicatesFile} {
		if abs, err := filepath.Abs(*file); err == nil && *file != "" {
			*file = abs
		}
	}
	return o
}

// printFiles prints the files that a build of a job has written below a directory, one a line.
func printFiles(w io.Writer, js spec.Job, built []*manifest.Manifest, out string) {
	for i, t := range js.Targets() {
		for _, f := range built[i].Files {
			fmt.Fprintf(w, "  %s  %s  %s  %s … %s\n", below(below(out, t.Dir), f.Name), setting.Count(f.Rows, "row"), setting.Bytes(f.Bytes),
				rowkey.String(f.FirstRow), rowkey.String(f.LastRow))
		}
	}
}

// below returns the name of an entry of a directory, which is a local path or a URI.
func below(dir, name string) string {
	if scheme, path, ok := strings.Cut(dir, "://"); ok {
		return scheme + "://" + below(path, name)
	}
	return path.Join(dir, name)
}
