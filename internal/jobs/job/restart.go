package job

import (
	"context"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"
)

// restartable checks the same as [restartable] for the load of a directory.
func (d *dirLoad) restartable(ctx context.Context) error {
	if d.st.Plan == nil {
		return nil
	}
	if d.fresh == nil {
		if _, err := cluster.TableFacts(ctx, d.env, d.c, d.result.Table, d.families()...); err != nil {
			return err
		}
	}
	if holds, err := d.holdsFiles(ctx); err != nil || holds || d.replaces() {
		return err
	}
	return noHFiles(d.at.Path)
}

// restartable checks, before the journal of a job that starts over is discarded, that its inputs and tables exist. Tables are not checked if c is nil
// or the job makes one. No input is read.
func restartable(ctx context.Context, env *cluster.Env, c *loader.Cluster, s spec.Job, o RunOptions) error {
	if c != nil && o.Into == "" {
		for _, x := range s.Targets() {
			if _, err := cluster.TableFacts(ctx, env, c, x.Table, x.Families()...); err != nil {
				return err
			}
		}
	}
	found, err := streams.Find(ctx, env.Source, s.Inputs, o.Stdin, nil)
	if err == nil {
		err = found.Absent()
	}
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(found.Others(s.Inputs), cluster.IsTable)
	if len(files) == 0 {
		return nil
	}
	_, err = source.List(ctx, env.Source, files, build.SelectionOf(s))
	return fail.With(fail.Input, err)
}
