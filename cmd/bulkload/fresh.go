package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// freshFlags are the flags of a run or a load that creates a table to replace another one.
type freshFlags struct {
	into    string
	splits  string
	dropOld string
}

// add registers the flags that both commands have.
func (o *freshFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"into": &o.into, "splits": &o.splits})
}

// autoSplits selects split points that are computed from the export.
const autoSplits = "auto"

func (o *freshFlags) splitKeys(ctx context.Context) ([][]byte, error) {
	if o.splits == "" || o.splits == autoSplits {
		return nil, nil
	}
	return splitsFlag(ctx, o.splits)
}

// splitsOf returns the split points of the new table, or nil for the split points of the old table.
func (o *freshFlags) splitsOf(env *cluster.Env, s spec.Job, w build.WorkOptions, given [][]byte) fresh.Splits {
	switch o.splits {
	case "":
		return nil
	case autoSplits:
		w.Events, w.RejectFile, w.FilteredFile, w.DuplicatesFile = progress.Events{}, "", "", ""
		return func(ctx context.Context, regions int) ([][]byte, error) { return suggested(ctx, env, s, w, regions) }
	}
	return func(context.Context, int) ([][]byte, error) { return given, nil }
}

// splitsOfFiles returns the split points of the new table of a load, or nil for the split points of the old table.
func (o *freshFlags) splitsOfFiles(env *cluster.Env, dir string, given [][]byte) fresh.Splits {
	if o.splits != autoSplits {
		return o.splitsOf(env, spec.Job{}, build.WorkOptions{}, given)
	}
	return func(ctx context.Context, _ int) ([][]byte, error) {
		fsys, name, err := env.Resolve(dir)
		if err != nil {
			return nil, err
		}
		m, err := manifest.Read(ctx, fsys, name)
		if err != nil {
			return nil, fail.With(fail.Input, err)
		}
		return m.Splits(), nil
	}
}

// suggested returns split points for the given number of regions of about equal size in bytes, as plan --suggest
// computes them.
func suggested(ctx context.Context, env *cluster.Env, s spec.Job, w build.WorkOptions, regions int) (points [][]byte, err error) {
	if regions < 2 {
		return nil, nil
	}
	unmount, err := mountTables(ctx, env, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unmount(ctx)) }()
	e, err := estimate.Run(ctx, env, s, estimate.Options{WorkOptions: w, Suggest: regions})
	if err != nil {
		return nil, fmt.Errorf("find split points: %w", err)
	}
	return rowkey.Rows(e.Splits), nil
}

func (o *runOptions) drop(cmd *cobra.Command, g *globals) error {
	if o.into == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--drop-old needs --into: name the new table"), "drop-old", "into"))
	}
	var d fresh.DropOptions
	for _, t := range []struct {
		flag, name string
		to         *loader.TableName
	}{{"drop-old", o.dropOld, &d.Old}, {"into", o.into, &d.New}} {
		var err error
		if *t.to, err = loader.ParseTableName(t.name); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--%s: %w", t.flag, err), t.flag))
		}
	}
	if err := o.switched(cmd, d.Old); err != nil {
		return err
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		state, err := currentState(cmd.Context(), env, o.job.State.Dir)
		if err != nil {
			return err
		}
		dir, err := fresh.FindJob(state, d.Old, d.New, func() (string, error) { return env.ClusterID(cmd.Context()) })
		if err != nil {
			return err
		}
		d.LockWait, d.Events = o.job.State.LockWait, session.LogEvents(env.Log)
		r, err := fresh.Drop(cmd.Context(), env, dir, d)
		if err != nil {
			return err
		}
		return g.Print(cmd.OutOrStdout(), r, func(w io.Writer) {
			if r.Already {
				fmt.Fprintf(w, "table %s was dropped at %s already; table %s is in its place\n", r.Table, r.At.Local().Format(time.DateTime), r.Fresh)
				return
			}
			fmt.Fprintf(w, "table %s is dropped; table %s is in its place\n", r.Table, r.Fresh)
		})
	})
}

// switched refuses to drop a table that this job file still names: its readers would find nothing.
func (o *runOptions) switched(cmd *cobra.Command, old loader.TableName) error {
	if o.jobFile == "" {
		return nil
	}
	now, err := loader.ParseTableName(settings.JobSpec(cmd).Table)
	if err != nil {
		return fail.Usage(err)
	}
	if now == old {
		return fail.Errorf(fail.Check, "table %s is not dropped: %s names it, and its readers would find no table (change it to table %s first)", old, o.jobFile, o.into)
	}
	return nil
}
