package main

import (
	"context"
	"fmt"

	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"

	"github.com/spf13/pflag"
)

// addOwnState registers the flags of the command's own job in the state directory.
func addOwnState(f *pflag.FlagSet, o *checkpoint.Options) {
	settings.Bind(f, settings.To{"state": &o.Dir, "job-id": &o.JobID, "lock-wait": &o.LockWait, "restart": &o.Restart})
}

// ownState finds the state directory of the command's own job.
func ownState(env *cluster.Env, o *checkpoint.Options) (err error) {
	o.Version = version
	o.Dir, err = checkpoint.StateDir(env, o.Dir)
	return err
}

// currentState returns the state directory of all jobs, refreshed to their current state.
func currentState(ctx context.Context, env *cluster.Env, state string) (string, error) {
	dir, err := checkpoint.StateDir(env, state)
	if err == nil {
		err = checkpoint.Refresh(ctx, env, dir)
	}
	return dir, err
}

// jobDir returns the directory of the one job that a word identifies.
func jobDir(ctx context.Context, env *cluster.Env, state, word string) (string, error) {
	if word == "" {
		return "", fail.Usage(settings.AboutFlags(fmt.Errorf("no job: name one with --job (bulkload status lists them)"), "job"))
	}
	dir, err := currentState(ctx, env, state)
	if err != nil {
		return "", err
	}
	s, err := checkpoint.Find(dir, word)
	if err != nil {
		return "", err
	}
	return s.Dir, nil
}
