package share

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/source"
)

// Plan holds the common settings of all shares and merges.
type Plan struct {
	Schema    int           `json:"schema"` // 1
	Job       spec.Spec     `json:"job"`
	Columns   []string      `json:"columns"`
	Families  []spec.Family `json:"families"`
	Timestamp int64         `json:"timestamp"`         // of every cell, milliseconds
	Points    []rowkey.Key  `json:"splits"`            // split points of the table; further tables are in Tables
	Servers   []string      `json:"servers,omitempty"` // host:port, on which the files of each region are written; none: anywhere
	Inputs    []InputFile   `json:"inputs"`
	Parts     []InputSplit  `json:"input_splits"`
	// Weights are the estimated bytes of each region, by which regions are divided; none: unknown. Here, and wherever regions of
	// several tables are numbered, regions of further tables follow those of the first.
	Weights []int64 `json:"weights,omitempty"`
	// Snapshots are the snapshots through which inputs that are tables are read.
	Snapshots []tablesource.Planned `json:"snapshots,omitempty"`
	// Tables are the further tables, in the order of the job's targets.
	Tables []PlanTable `json:"tables,omitempty"`
	// NewKeys determines how the rows of the one snapshot get new keys; nil: rows are made from records.
	NewKeys *NewKeys `json:"new_keys,omitempty"`
	// Salt is the digest of the secret of salted(x), which each share reads itself.
	Salt string `json:"salt_digest,omitempty"`
	// Checksum covers all other fields. Shares identify their plan by it.
	Checksum string `json:"checksum"`

	files *tablesource.Files // of the snapshot whose rows get new keys; set by [Plan.Mount]
}

// PlanTable holds a plan's settings of a further table.
type PlanTable struct {
	Families []spec.Family `json:"families"`
	Points   []rowkey.Key  `json:"splits"`
	Servers  []string      `json:"servers,omitempty"`
}

// planTable returns the settings of a table.
func planTable(shape build.Shape) PlanTable {
	t := PlanTable{Families: shape.Families, Points: rowkey.Keys(shape.Splits)}
	if shape.Near != nil {
		for _, start := range append([]rowkey.Key{nil}, t.Points...) {
			t.Servers = append(t.Servers, shape.Near(start))
		}
	}
	return t
}

// shape returns the shape of the table for a build.
func (t PlanTable) shape() build.Shape {
	shape := build.Shape{Families: t.Families, Splits: rowkey.Rows(t.Points)}
	if len(t.Servers) == len(t.Points)+1 {
		shape.Near = func(row []byte) string {
			return t.Servers[sort.Search(len(t.Points), func(i int) bool { return bytes.Compare(t.Points[i], row) > 0 })]
		}
	}
	return shape
}

// Make plans a job: it finds its inputs, their columns and their splits. The shapes are for the job's targets, with the families' settings of
// the job. It returns an error for streams, and for tables that region servers scan.
func Make(ctx context.Context, files build.Files, s spec.Job, shapes []build.Shape, w build.WorkOptions) (p *Plan, err error) {
	return plan(ctx, files, s, shapes, nil, w)
}

// plan is [Make], also for rows that get new keys.
func plan(ctx context.Context, files build.Files, s spec.Job, shapes []build.Shape, keys *NewKeys, w build.WorkOptions) (p *Plan, err error) {
	s.Inputs = slices.Clone(s.Inputs)
	var snapshots []tablesource.Planned
	var table *tablesource.Files
	streamed := streams.Places(s.Inputs)
	for i, input := range s.Inputs {
		if streamed[i] != "" {
			return nil, fail.Errorf(fail.Config, "the input %s is a stream of this process, which other shares cannot read: write the data to a file that all of them see, and name that", input)
		}
		fsys, name, err := files.Source(input)
		if err != nil {
			return nil, err
		}
		if snap, ok := fsys.(*tablesource.Files); ok {
			planned, err := snap.Plan(ctx, input)
			if err != nil {
				return nil, err
			}
			snapshots, table = append(snapshots, planned), snap
		} else if source.IsTable(fsys) {
			return nil, fail.Errorf(fail.Config, "input %s: %w", input, abilities.Refusal(abilities.Input, abilities.Shares))
		}
		if _, local := fsys.(hdfsio.Local); local {
			s.Inputs[i] = name // shares may start in another directory
		}
	}
	if err := streams.Refuse(ctx, files.Source, s.Inputs, w.Stdin, "a share"); err != nil {
		return nil, err
	}
	in, err := build.OpenInput(ctx, files.Source, s, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p = &Plan{Schema: 1, Job: s.Spec(), Columns: in.Source.Columns(), Timestamp: cmp.Or(s.Timestamp, time.Now().UnixMilli()), Snapshots: snapshots, NewKeys: keys, files: table}
	p.Job.Options = nil
	if p.Job.SaltFile != "" {
		if p.Job.SaltFile, err = filepath.Abs(p.Job.SaltFile); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	}
	salt, err := s.Salt()
	if err != nil {
		return nil, err
	}
	p.Salt = salt.Digest()
	for i, shape := range shapes {
		if t := planTable(shape); i == 0 {
			p.Families, p.Points, p.Servers = t.Families, t.Points, t.Servers
		} else {
			p.Tables = append(p.Tables, t)
		}
	}
	for _, f := range in.Source.Files() {
		p.Inputs = append(p.Inputs, inputFile(f))
	}
	if err := build.RefuseSplits(len(in.Source.Splits())); err != nil {
		return nil, err
	}
	for _, s := range in.Source.Splits() {
		p.Parts = append(p.Parts, InputSplit{int64(s.File), s.Start, s.End, int64(s.RowGroup)})
	}
	if _, _, err := p.Resolve(ctx); err != nil {
		return nil, err
	}
	if err := build.Recheck(ctx, in.Source); err != nil {
		return nil, err
	}
	b, err := Seal(p, &p.Checksum)
	if err != nil {
		return nil, err
	}
	var again Plan
	if err := Unseal(b, &again, &again.Checksum); err != nil || !reflect.DeepEqual(again.Job, p.Job) {
		return nil, fail.Errorf(fail.Config, "the job has texts that a plan cannot hold, such as bytes that are not UTF-8: write them with escapes (%v)", err)
	}
	return p, nil
}

// Resolve returns the job and the plan of each of its targets.
func (p *Plan) Resolve(ctx context.Context) (spec.Job, []*cells.Plan, error) {
	j, err := p.Job.Resolve()
	if err == nil {
		err = j.Divisible(abilities.Shares)
	}
	if err != nil {
		return j, nil, err
	}
	var shapes []build.Shape
	for _, t := range append([]PlanTable{{p.Families, p.Points, p.Servers}}, p.Tables...) {
		if len(t.Families) == 0 {
			return j, nil, fail.Errorf(fail.Config, "the plan has no families")
		}
		shapes = append(shapes, t.shape())
	}
	if p.NewKeys != nil {
		_, plan, err := p.newKeys(ctx, shapes[0])
		return j, []*cells.Plan{plan}, err
	}
	plans, err := build.NewPlans(j, p.Columns, shapes, p.Timestamp)
	if err == nil && plans[0].Salt.Digest() != p.Salt {
		return j, nil, fail.Errorf(fail.Config, "%s has another secret than when the plan was made (digest %s, it was %s): each share needs the same", j.SaltFile, plans[0].Salt.Digest(), p.Salt)
	}
	for _, plan := range plans {
		for _, s := range p.Snapshots {
			plan.Tables = append(plan.Tables, s.Input)
		}
	}
	return j, plans, err
}

// Regions returns the number of regions of all tables.
func (p *Plan) Regions() int {
	n := len(p.Points) + 1
	for _, t := range p.Tables {
		n += len(t.Points) + 1
	}
	return n
}

// Write writes the plan under its name, in an existing directory. An existing plan that is the same except for its timestamp and the locations of
// regions is kept, so that the same command can be repeated; for a different one it returns an error. moving means that the split points are the
// current ones of tables: then a plan from before a split or a merge of regions is the same too, because its files are split when they are loaded.
func (p *Plan) Write(ctx context.Context, files build.Files, name string, moving bool) (*Plan, error) {
	fsys, file, err := files.Resolve(name)
	if err != nil {
		return nil, err
	}
	b, err := Seal(p, &p.Checksum)
	if err != nil {
		return nil, err
	}
	err = WriteOnce(ctx, fsys, file, b)
	if !errors.Is(err, fs.ErrExist) {
		return p, fail.With(fail.HDFS, err)
	}
	old, err := Read(ctx, files, name)
	if err != nil {
		return nil, err
	}
	same := *old
	if p.Job.Timestamp == 0 {
		same.Timestamp = p.Timestamp
	}
	same.Servers, same.Tables = p.Servers, slices.Clone(old.Tables)
	for i := range min(len(same.Tables), len(p.Tables)) {
		same.Tables[i].Servers = p.Tables[i].Servers
		if moving {
			same.Tables[i].Points = p.Tables[i].Points
		}
	}
	if moving {
		same.Points = p.Points
	}
	was, err := Seal(&same, &same.Checksum)
	if err != nil || !bytes.Equal(was, b) {
		return nil, fail.Errorf(fail.Config, "%s is there already, and is the plan of another job, or its inputs have changed since: name another file, or remove it and what its shares have left", name)
	}
	return old, nil
}

// Read reads a plan. It returns an error for a plan that was changed, or is of another version.
func Read(ctx context.Context, files build.Files, name string) (*Plan, error) {
	fsys, file, err := files.Resolve(name)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	err = ReadSealed(ctx, fsys, file, p, &p.Checksum)
	if err == nil && p.Schema != 1 {
		err = fmt.Errorf("schema %d is not known to this version", p.Schema)
	}
	if errors.Is(err, errOtherVersion) {
		err = fmt.Errorf("%w, or remove it and what its shares have left, and plan again", err)
	}
	if err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("plan %s: %w", name, err))
	}
	return p, nil
}

// Splits implements [build.Places].
func (p *Plan) Splits() []source.Split {
	all := make([]source.Split, len(p.Parts))
	for i, s := range p.Parts {
		all[i] = source.Split{File: int(s[0]), Start: s[1], End: s[2], RowGroup: int(s[3])}
	}
	return all
}

// Part returns the splits of a share: consecutive ones, with about the same number of bytes for each share. A share may have
// none.
func (p *Plan) Part(of Fraction) build.Part {
	var ends []int64
	total := int64(0)
	rows := map[int64]int64{} // by file, if splits are rows
	for _, s := range p.Parts {
		rows[s[0]] += s[2] - s[1]
	}
	for _, s := range p.Parts {
		f := p.Inputs[s[0]]
		switch bytes := s[2] - s[1]; {
		case source.Format(f.Format).Traits().Rows:
			total += int64(float64(f.Size) * float64(bytes) / float64(max(rows[s[0]], 1)))
		default:
			total += min(bytes, f.Size)
		}
		ends = append(ends, total)
	}
	return build.Part{From: cut(ends, of.K-1, of.N), To: cut(ends, of.K, of.N)}
}

// cut returns how many elements of a list belong to the first k of n parts. ends are the cumulative sizes of the elements.
func cut(ends []int64, k, n int) int {
	if k == n {
		return len(ends)
	}
	if len(ends) == 0 {
		return 0
	}
	until := float64(ends[len(ends)-1]) * float64(k) / float64(n)
	i := 0
	for before := int64(0); i < len(ends) && float64(before+ends[i])/2 < until; i++ {
		before = ends[i]
	}
	return i
}

// Place implements [build.Places].
func (p *Plan) Place(split int, offset int64) string {
	s := p.Parts[split]
	f := p.Inputs[s[0]]
	return source.Format(f.Format).Traits().Place(f.Path, s[1], offset)
}
