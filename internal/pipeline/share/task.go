package share

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
)

// Mount lets env read the inputs that are tables, through the plan's snapshots. Build, Merge and Open require it.
func (p *Plan) Mount(ctx context.Context, env *cluster.Env) error {
	j, err := p.Job.Resolve()
	for _, s := range p.Snapshots {
		files, mountErr := s.Mount(ctx, env, j.KeyParser)
		p.files, err = files, errors.Join(err, mountErr)
	}
	return err
}

// Open opens the input, which must not have changed since the plan was made.
func (p *Plan) Open(ctx context.Context, files build.Files, w build.WorkOptions) (*build.Input, error) {
	if err := p.unchanged(ctx, files); err != nil {
		return nil, err
	}
	j, err := p.Job.Resolve()
	if err != nil {
		return nil, err
	}
	w.Splits = p.Splits()
	in, err := build.OpenInput(ctx, files.Source, j, w)
	if err != nil {
		return nil, err
	}
	if err = p.sameInputs(in.Source.Files()); err == nil && !slices.Equal(in.Source.Columns(), p.Columns) { // it may have changed since the look
		err = fail.Errorf(fail.Input, "the input has other columns than when the plan was made")
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Bytes returns the total size of the input files.
func (p *Plan) Bytes() (n int64) {
	for _, f := range p.Inputs {
		n += f.Size
	}
	return n
}
