package share

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
)

// Merged is the record of merge K of M: the written regions, From (inclusive) to To (exclusive).
type Merged struct {
	Schema   int    `json:"schema"` // 1
	Plan     string `json:"plan"`
	Rows     string `json:"rows"` // identifies the merged rows: equal for shares that have read the same
	Merge    int    `json:"merge"`
	Merges   int    `json:"merges"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Checksum string `json:"checksum"`
	build.Written
	Tables []*build.Written `json:"tables,omitempty"` // of further tables
}

// written returns the result for each table.
func (d *Merged) written() []*build.Written { return append([]*build.Written{&d.Written}, d.Tables...) }

// readFile reads the record of a merge. It returns an error for a merge of other rows or of another number of merges.
func (m *merge) readFile(ctx context.Context, name string) (*Merged, error) {
	d := &Merged{}
	file := m.out.path(path.Join(mergeDir, name))
	if err := ReadSealed(ctx, m.out.fs, file, d, &d.Checksum); err != nil {
		return nil, fail.With(fail.Input, fmt.Errorf("%s: %w", file, err))
	}
	switch {
	case d.Schema != 1 || d.Plan != m.plan.Checksum || d.Rows != m.rows:
		return nil, fail.Errorf(fail.Config, "%s has files of another plan, or of shares that read other rows: merge into another directory", m.out.given)
	case d.Merges != m.of.N:
		return nil, fail.Errorf(fail.Config, "%s has files of merge %d/%d, and this is one of %d: merge by as many, or into another directory", m.out.given, d.Merge, d.Merges, m.of.N)
	}
	return d, nil
}

// read returns the record of a merge. The error is fs.ErrNotExist if it is not done, and another one if its files are gone.
func (m *merge) read(ctx context.Context, of Fraction) (*Merged, error) {
	d, err := m.readFile(ctx, of.name("merge")+".json")
	if err != nil {
		return nil, err
	}
	if d.From != m.from(of.K) || d.To != m.from(of.K+1) || d.Merge != of.K {
		return nil, fail.Errorf(fail.Input, "%s says that merge %s has regions %d to %d: merge into another directory", m.out.given, of, d.From, d.To)
	}
	tables := m.tables(build.Output{Dir: m.out.dir})
	if len(d.Tables)+1 != len(tables) {
		return nil, fail.Errorf(fail.Input, "%s says that merge %s wrote tables: %d, of %d: merge into another directory", m.out.given, of, len(d.Tables)+1, len(tables))
	}
	for i, w := range d.written() {
		for _, f := range w.Files {
			if err := m.checkExists(ctx, path.Join(tables[i].Out.Dir, f.Name), f.Bytes, of); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// checkExists returns an error unless a file exists with the size that a merge wrote.
func (m *merge) checkExists(ctx context.Context, name string, bytes int64, of Fraction) error {
	info, err := m.out.fs.Stat(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail.Errorf(fail.Input, "%s is gone, which merge %s wrote: merge into another directory", name, of)
	case err != nil:
		return fail.With(fail.HDFS, err)
	case info.Size() != bytes:
		return fail.Errorf(fail.Input, "%s has %d bytes, merge %s wrote %d: merge into another directory", name, info.Size(), of, bytes)
	}
	return nil
}
