package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/source"
)

// InputFile is the state of an input file when the plan was made.
type InputFile struct {
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	Time   time.Time `json:"mtime"`
	Change time.Time `json:"ctime,omitzero"`    // of local files
	FileID uint64    `json:"file_id,omitempty"` // on HDFS; machines may see different inodes of a shared file
	Format string    `json:"format"`
}

// InputSplit is a [source.Split]: its file, start, end and row group.
type InputSplit [4]int64

func inputFile(f source.FileInfo) InputFile {
	i := InputFile{Path: f.Path, Size: f.Size, Time: f.ModTime.UTC(), Change: f.ChangeTime.UTC(), Format: string(f.Format)}
	if f.ChangeTime.IsZero() {
		i.Change, i.FileID = time.Time{}, f.FileID
	}
	return i
}

// differs describes the first difference, from old to new, or returns "".
func (f InputFile) differs(now InputFile) string {
	const layout = time.RFC3339Nano
	switch {
	case f.Size != now.Size || !f.Time.Equal(now.Time):
		return fmt.Sprintf("%s had %d bytes of %s, it has %d of %s", f.Path, f.Size, f.Time.Format(layout), now.Size, now.Time.Format(layout))
	case !f.Change.Equal(now.Change):
		return fmt.Sprintf("%s: content or attributes changed (ctime) %s, now %s", f.Path, f.Change.Format(layout), now.Change.Format(layout))
	case f.FileID != now.FileID:
		return fmt.Sprintf("%s is another file of the same size and time (id %d, now %d)", f.Path, f.FileID, now.FileID)
	}
	return ""
}

// unchanged compares the input files with those of the plan, without opening them.
func (p *Plan) unchanged(ctx context.Context, files build.Files) error {
	j, err := p.Job.Resolve()
	if err != nil {
		return err
	}
	now, err := source.List(ctx, files.Source, p.Job.Inputs, build.SelectionOf(j))
	if err != nil {
		return fail.With(fail.Input, err)
	}
	return p.sameInputs(now)
}

// sameInputs returns an error if files are not those of the plan.
func (p *Plan) sameInputs(now []source.FileInfo) error {
	if what := p.Differs(now); what != "" {
		return fail.Errorf(fail.Input, "the input has changed since the plan was made: %s (begin again: shares with another plan, in another directory)", what)
	}
	return nil
}

// Differs describes the first difference of files from those of the plan, or returns "".
func (p *Plan) Differs(now []source.FileInfo) string {
	for i, f := range now {
		switch {
		case i >= len(p.Inputs):
			return f.Path + " is new"
		case f.Path != p.Inputs[i].Path:
			return fmt.Sprintf("%s stands where %s was", f.Path, p.Inputs[i].Path)
		}
		if what := p.Inputs[i].differs(inputFile(f)); what != "" {
			return what
		}
	}
	if len(now) < len(p.Inputs) {
		return p.Inputs[len(now)].Path + " is gone"
	}
	return ""
}

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
