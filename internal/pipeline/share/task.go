package share

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hdfsio"
)

// Part is a share's splits.
func (p *Plan) Part(of Of) build.Part { return p.part(of.K, of.N) }

// Mount has env read those inputs that are tables, through the plan's snapshots. Build, Merge and Open need that.
func (p *Plan) Mount(ctx context.Context, env *cluster.Env) error {
	j, err := p.Job.Resolve()
	for _, s := range p.Snapshots {
		files, mountErr := s.Mount(ctx, env, j.KeyParser)
		p.files, err = files, errors.Join(err, mountErr)
	}
	return err
}

// Open opens the input, which must be as it was when the plan was made.
func (p *Plan) Open(ctx context.Context, files build.Files, w build.WorkOptions) (*build.Input, error) {
	if err := p.unchanged(ctx, files); err != nil {
		return nil, err
	}
	j, err := p.Job.Resolve()
	if err != nil {
		return nil, err
	}
	w.Splits = p.splits()
	in, err := build.OpenInput(ctx, files.Source, j, w)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(in.Source.Columns(), p.Columns) {
		return nil, errors.Join(fail.Errorf(fail.Input, "the input has other columns than when the plan was made"), in.Close())
	}
	return in, nil
}

// ChunkSize is with how many bytes chunks are cut so that one merge of so much memory holds one of each share.
func ChunkSize(memory int64, shares int) int { return chunkSize(memory, shares) }

// Begin reports the work on a part that begins.
func (p *Plan) Begin(e progress.Events, in *build.Input, plan *cells.Plan, dir string, phases ...string) {
	begin(e, in, plan, p, dir, phases...)
}

// Bytes are those of the input files.
func (p *Plan) Bytes() (n int64) {
	for _, f := range p.Inputs {
		n += f.Size
	}
	return n
}

// Seal gives the text of a value with its checksum in it, which sum points to.
func Seal(v any, sum *string) ([]byte, error) { return seal(v, sum) }

// Unseal reads what [Seal] gave. What was changed since, and a field that is not known, are refused.
func Unseal(b []byte, v any, sum *string) error { return unseal(b, v, sum) }

// ReadSealed reads a file of [Seal].
func ReadSealed(ctx context.Context, fsys hdfsio.FS, name string, v any, sum *string) error {
	return readSealed(ctx, fsys, name, v, sum)
}

// WriteOnce makes a file that has its name only when it is complete. One of that name that is there stays: [fs.ErrExist].
func WriteOnce(ctx context.Context, fsys hdfsio.FS, name string, b []byte) error {
	return writeOnce(ctx, fsys, name, b)
}
