package share

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// NewKeys holds the settings of a plan that assigns new keys to the rows of a snapshot.
type NewKeys struct {
	Key      string `json:"key"`
	OldKey   string `json:"old_key,omitempty"`
	Since    int64  `json:"since,omitempty"`    // of the choice with which the snapshot is read
	Versions int    `json:"versions,omitempty"` // per column; 0: all
	Columns  string `json:"columns"`            // numbered columns, see [newkeys.Columns]
	Staging  string `json:"staging"`            // the directory that merges write into, and that the planning job loads from
}

// MakeRekey plans a build of HFiles of the snapshot's rows under new keys, with the same result as a plan for one process. The request has the
// input, by which files resolves the snapshot, and the policies for rows with the same key and rows without one. Merges write into the staging
// directory.
func MakeRekey(ctx context.Context, files build.Files, asked spec.Spec, s *snapshot.Snapshot, p *newkeys.Plan, staging string, w build.WorkOptions) (*Plan, error) {
	columns, err := newkeys.Columns(ctx, s, p)
	if err != nil {
		return nil, err
	}
	keys := &NewKeys{Key: p.Key.String(), Since: p.Choice.Since, Versions: p.Versions, Columns: columns, Staging: staging}
	if p.OldKey != nil {
		keys.OldKey = p.OldKey.String()
	}
	asked.Table, asked.Key, asked.Columns, asked.AllowEmpty, asked.Timestamp = p.Table, newkeys.RowColumn, []string{newkeys.RowColumn}, true, p.Now.UnixMilli()
	j, err := asked.Resolve()
	if err != nil {
		return nil, err
	}
	return plan(ctx, files, j, []build.Shape{{Families: p.Families, Splits: p.Ranges.Splits(), Near: p.Near}}, keys, w)
}

// WriteKnown is [Plan.Write] for a job whose journal has the checksum of its plan, or "". It returns the plan of the file, which has the servers of
// the regions when it was written. It refuses to write a second plan for the job: only the file shows that nothing but servers differs.
func (p *Plan) WriteKnown(ctx context.Context, files build.Files, name, known string) (*Plan, error) {
	if known != "" && known != p.Checksum {
		switch old, err := Read(ctx, files, name); {
		case errors.Is(err, fs.ErrNotExist), err == nil && old.Checksum != known:
			return nil, fail.Errorf(fail.Check, "the job has a plan for shares already, and %s is not it: name its file (%s discards the plan)", name, setting.Restart)
		case err != nil:
			return nil, err
		}
	}
	return p.Write(ctx, files, name, false)
}

// key returns the key spec of the first table.
func (p *Plan) key() string {
	if p.NewKeys != nil {
		return p.NewKeys.Key
	}
	return p.Job.Key
}

// newKeys returns the plan for new keys, and the build's plan for it.
func (p *Plan) newKeys(ctx context.Context, shape build.Shape) (*newkeys.Plan, *cells.Plan, error) {
	if p.files == nil {
		return nil, nil, fail.Errorf(fail.Config, "the plan has no snapshot")
	}
	s, parts, err := p.files.Parts(ctx)
	if err != nil {
		return nil, nil, fail.With(fail.Input, err)
	}
	if len(shape.Families) != len(s.Families) {
		return nil, nil, fail.Errorf(fail.Config, "the plan has %d families, snapshot %s has %d", len(shape.Families), s.Name, len(s.Families))
	}
	k := &newkeys.Plan{Table: p.Job.Table, Families: shape.Families, Near: shape.Near, Now: time.UnixMilli(p.Timestamp), Choice: p.files.Choice, Versions: p.NewKeys.Versions, Divided: &newkeys.Divided{Columns: p.NewKeys.Columns}}
	k.Choice.Since = p.NewKeys.Since // plans of earlier versions have it only here
	byName := map[string]tablesource.Part{}
	for _, part := range parts {
		byName[part.Name] = part
	}
	for _, split := range p.Parts { // files without bytes have no splits
		name := path.Base(p.Inputs[split[0]].Path)
		part, there := byName[name]
		if !there {
			return nil, nil, fail.Errorf(fail.Input, "snapshot %s has no part %s, or two have the name", s.Name, name)
		}
		delete(byName, name)
		k.Divided.Parts = append(k.Divided.Parts, part)
	}
	j, err := p.Job.Resolve()
	k.Duplicates = j.Policy()
	if err == nil {
		k.Key, k.OldKey, err = p.NewKeys.specs()
	}
	if err == nil {
		k.Ranges, err = partition.New(shape.Splits)
	}
	if err != nil {
		return nil, nil, fail.With(fail.Config, err)
	}
	return k, k.Build(s), nil
}

// specs returns the specs of the new keys and of the old ones, nil without one.
func (n *NewKeys) specs() (key, old keygen.Expr, err error) {
	if key, err = keygen.Parse(n.Key); err == nil && n.OldKey != "" {
		old, err = keygen.Parse(n.OldKey)
	}
	return key, old, fail.With(fail.Config, err)
}

// Judge returns an error if the input that all parts have read must not be built.
func (p *Plan) Judge(parts []*build.PartRead) error {
	if p.NewKeys != nil {
		key, old, err := p.NewKeys.specs()
		if err == nil {
			err = newkeys.OneFamily(key, old, p.Families, parts)
		}
		if err != nil {
			return err
		}
	}
	return build.Judge(parts, p.Job)
}

// Read is pass 1 on a part of the open input.
func (p *Plan) Read(ctx context.Context, plans []*cells.Plan, in *build.Input, part build.Part, sink build.Sink, c chunk.Options, rejects string, o build.Options) (*build.PartRead, error) {
	if p.NewKeys == nil {
		return build.ReadPart(ctx, plans, in.Source, part, sink, c, o)
	}
	k, _, err := p.newKeys(ctx, build.Shape{Families: p.Families, Splits: plans[0].Ranges.Splits()})
	if err != nil {
		return nil, err
	}
	s, _, err := p.files.Parts(ctx)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	return newkeys.ReadPart(ctx, s, k, part, sink, c, newkeys.Options{Options: o, RejectFile: rejects})
}

// RejectName returns the name of the file for rejects of a share of the plan.
func (p *Plan) RejectName(of Fraction) string {
	if p.NewKeys != nil {
		return of.name("share") + ".rejects.keys"
	}
	return of.RejectName()
}

// Output returns the directory that merges of the plan write into: out, or, if rows get new keys, their job's staging directory, and out
// must be empty or the same.
func (p *Plan) Output(out string) (string, error) {
	switch {
	case p.NewKeys == nil:
		return out, nil
	case out != "" && out != p.NewKeys.Staging:
		return "", fail.Errorf(fail.Config, "the HFiles of this plan go to %s, from where the job loads them: name no other directory", p.NewKeys.Staging)
	}
	return p.NewKeys.Staging, nil
}

// MergedFiles returns the manifest of a directory into which all merges of a plan have written; plan is the plan's checksum. The error is
// [fs.ErrNotExist] if some merges are not done.
func MergedFiles(ctx context.Context, fsys hdfsio.FS, dir, plan string) (*manifest.Manifest, error) {
	m, err := manifest.Read(ctx, fsys, dir)
	if err != nil {
		return nil, err
	}
	notes, err := fsys.ReadDir(ctx, path.Join(dir, mergeDir))
	if err != nil {
		return nil, err
	}
	merges := 0
	for _, e := range notes {
		d := &Merged{}
		if path.Ext(e.Name()) != ".json" {
			continue
		}
		if err := ReadSealed(ctx, fsys, path.Join(dir, mergeDir, e.Name()), d, &d.Checksum); err != nil {
			return nil, fail.With(fail.Input, fmt.Errorf("%s: %w", e.Name(), err))
		}
		if d.Plan != plan {
			return nil, fail.Errorf(fail.Input, "%s has files of another plan", dir)
		}
		merges++
	}
	if merges == 0 {
		return nil, errors.Join(fs.ErrNotExist, errors.New("there are no notes of merges"))
	}
	return m, nil
}
