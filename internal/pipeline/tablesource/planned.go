package tablesource

import (
	"context"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen/rowkey"
)

// Planned is a plan's description of a snapshot: all processes that read an input
// by the plan read this one.
type Planned struct {
	Input   string    `json:"input"`
	Name    string    `json:"snapshot"`
	Table   string    `json:"table"`
	Created time.Time `json:"created"`
	// Cuts are the rows at which large regions are cut into files, by the number of
	// the region. A reader that has them opens only the files that it reads.
	Cuts map[int][]rowkey.Key `json:"cuts,omitempty"`
	// Choice selects the cells to read.
	Choice choice.Choice `json:"choice,omitzero"`
}

// Plan describes the snapshot for other processes, which read it as an input.
// The snapshot must exist as long as they read.
func (f *Files) Plan(ctx context.Context, input string) (Planned, error) {
	snap, parts, err := f.layout(ctx)
	if err != nil {
		return Planned{}, fail.With(fail.Input, err)
	}
	p := Planned{Input: input, Name: f.name, Table: snap.Table, Created: snap.Created.UTC(), Cuts: map[int][]rowkey.Key{}, Choice: f.Choice}
	for _, r := range parts {
		if r.part > 0 {
			p.Cuts[int(r.number)] = append(p.Cuts[int(r.number)], r.start)
		}
	}
	return p, nil
}

// Mount makes env read the input through the snapshot. It returns an error if
// another snapshot has the name.
func (p Planned) Mount(ctx context.Context, env *cluster.Env, parser Parser) (*Files, error) {
	ref, _, err := Parse(p.Input)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	s, err := Open(ctx, env, Ref{Snapshot: p.Name}, Options{})
	if err != nil {
		return nil, err
	}
	if is := s.Snapshot; is.Table != p.Table || !is.Created.Equal(p.Created) {
		return nil, fail.Errorf(fail.Input, "snapshot %s is of table %s at %s, the plan's of %s at %s: make another plan", p.Name, is.Table, is.Created.UTC().Format(time.RFC3339Nano), p.Table, p.Created.Format(time.RFC3339Nano))
	}
	files := NewFiles(s.fsys, s.root, p.Name, ref, parser)
	files.held, files.cuts, files.Choice = s.Snapshot, p.Cuts, p.Choice
	env.Mount(p.Input, files, files.Dir())
	return files, nil
}
