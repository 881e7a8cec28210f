package main

import (
	"context"
	"errors"
	"io"

	"bulkload/internal/base/workers"
	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/source"

	"github.com/spf13/cobra"
)

func needInputs(spec spec.Job) error {
	if len(spec.Inputs) == 0 && spec.InputsFrom == "" {
		return fail.Usage(errors.New("no input: name files, directories or globs with --input, or under inputs in the job file; or a list of them with --inputs-from"))
	}
	return nil
}

// listInputs reads the list of inputs, if there is one. From then on its entries are the job's inputs, as if each had been given
// separately. A resumed job must have the same entries, not the same name of the list.
func listInputs(ctx context.Context, env *cluster.Env, s *spec.Job) (err error) {
	if s.InputsFrom == "" {
		return nil
	}
	s.Inputs, err = source.InputsFrom(ctx, env.Source, s.InputsFrom)
	s.InputsFrom = ""
	return fail.With(fail.Input, err)
}

// mountTables opens the inputs that are tables. It may take snapshots for that; done deletes them, unless there was
// an error.
func mountTables(ctx context.Context, env *cluster.Env, s spec.Job) (done func(context.Context) error, err error) {
	if err := checkTables(s); err != nil {
		return nil, err
	}
	return tablesource.Mount(ctx, env, s.Inputs, tablesource.ReadBy(s.ReadBy), s.Choice(), s.KeyParser)
}

// checkTables refuses settings for table inputs where there are none, and read methods that the tables do not
// support.
func checkTables(s spec.Job) error {
	if err := tablesource.CheckTables(s); err != nil {
		return err
	}
	return tablesource.CheckReadBy(s.Inputs, tablesource.ReadBy(s.ReadBy))
}

// mountFiles is mountTables for an estimate, which needs the sizes of files.
func mountFiles(ctx context.Context, env *cluster.Env, s spec.Job) (done func(context.Context) error, err error) {
	if s.ReadBy == string(tablesource.ByScan) {
		return nil, fail.Usage(settings.AboutFlags(errors.New("plan cannot estimate a table that is read by scans: read its files or a snapshot (--read-by files)"), "read-by"))
	}
	s.ReadBy = ""
	return mountTables(ctx, env, s)
}

// stdinOf returns the standard input of a command. Reading it ends when the command is stopped, also while no data arrives.
func stdinOf(cmd *cobra.Command) io.Reader { return stoppable{cmd.Context(), cmd.InOrStdin()} }

// stoppable reads until the context ends. A blocked read cannot be interrupted: it is left behind, so there is none after that.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	data, err := workers.Await(s.ctx, func() ([]byte, error) {
		buf := make([]byte, len(p))
		n, err := s.r.Read(buf)
		return buf[:n], err
	})
	return copy(p, data), err
}
