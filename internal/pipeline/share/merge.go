package share

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
)

// mergeDir is the directory below the output in which merges record their work.
const mergeDir = build.MergeDir

// Result is the result of a merge.
type Result struct {
	Manifests []*manifest.Manifest // of the whole build, one for each table; none until all other merges have written their regions
	Missing   []Fraction           // the unfinished merges
	DoneAt    time.Time            // when an earlier call ended that had done all this; zero if there was none
}

// Merge writes the HFiles of the regions of merge K of M, from shares in the directory dir, below out; of several tables each has a directory
// of its own there. The last of the M merges also writes the manifests. Merges that are already done write nothing.
func Merge(ctx context.Context, files build.Files, p *Plan, dir, out string, of Fraction, w build.WorkOptions) (r *Result, err error) {
	m := &merge{plan: p, of: of, work: w, files: files}
	if m.job, m.plans, err = p.Resolve(ctx); err != nil {
		return nil, err
	}
	if err := m.findShares(ctx, dir); err != nil {
		return nil, err
	}
	if err := p.unchanged(ctx, files); err != nil {
		return nil, err
	}
	if err := m.open(ctx, out); err != nil {
		return nil, err
	}
	if r, err := m.done(ctx); r != nil || err != nil {
		return r, err
	}
	own, err := m.read(ctx, of)
	before := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		begin(w.Events, nil, m.plans[0], p, out, "write")
		own, err = m.write(ctx)
	}
	if err != nil {
		return nil, err
	}
	if r, err = m.finish(ctx, own); err == nil && before && len(r.Missing) > 0 {
		err = m.found(ctx, r, m.out.path(path.Join(mergeDir, of.name("merge")+".json")))
	}
	return r, err
}

// merge is a running merge.
type merge struct {
	plan   *Plan
	job    spec.Job
	plans  []*cells.Plan
	of     Fraction
	files  build.Files
	work   build.WorkOptions
	shares directory
	all    []*Share
	rows   string
	out    directory
}

// findShares reads the descriptions of the shares and evaluates them together.
func (m *merge) findShares(ctx context.Context, dir string) error {
	fsys, name, err := m.files.Resolve(dir)
	if err != nil {
		return err
	}
	m.shares = directory{fsys, name, dir}
	found, err := m.shares.list(ctx, m.plan)
	if err != nil {
		return err
	}
	if m.all, err = m.shares.complete(found, m.plans); err != nil {
		return err
	}
	var sums struct {
		Plan   string
		Sums   []build.SplitSums
		RowSum manifest.RowSum `json:",omitzero"`
		Sum    string
	}
	sums.Plan = m.plan.Checksum
	var all build.SplitSums
	for _, s := range m.all {
		all = append(all, s.Sums...)
		sums.RowSum.Add(s.RowSum)
	}
	sums.Sums = []build.SplitSums{all}
	if _, err := Seal(&sums, &sums.Sum); err != nil {
		return err
	}
	m.rows = sums.Sum
	m.work.Events.Records(build.CountsOf(m.parts()))
	if err := m.plan.Judge(m.parts()); err != nil {
		return err
	}
	build.WarnLacking(m.parts(), m.work.Events)
	return build.MetByParts(m.parts(), m.job.Checks())
}

func (m *merge) parts() (parts []*build.PartRead) {
	for _, s := range m.all {
		parts = append(parts, &s.PartRead)
	}
	return parts
}

// open prepares the output: a missing or empty directory, or one that merges of the same rows have begun.
func (m *merge) open(ctx context.Context, out string) error {
	fsys, name, err := m.files.Resolve(out)
	if err != nil {
		return err
	}
	m.out = directory{fsys, name, out}
	entries, err := fsys.ReadDir(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail.Listing(err)
	}
	begun := slices.ContainsFunc(entries, func(e fs.FileInfo) bool { return e.Name() == mergeDir && e.IsDir() })
	if len(entries) > 0 && !begun {
		return fail.Errorf(fail.Config, "%s is not empty: name a directory that is missing or empty, or one that merges of this plan have begun", out)
	}
	if err := fsys.MkdirAll(ctx, m.out.path(mergeDir), 0o755); err != nil {
		return fail.With(fail.HDFS, err)
	}
	done, err := fsys.ReadDir(ctx, m.out.path(mergeDir))
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	for _, e := range done {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if _, err := m.readFile(ctx, e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tables returns the job's tables, with their directories below an output.
func (m *merge) tables(out build.Output) []build.Table { return out.Tables(m.job, m.plans) }

// from returns the first region of merge k, from 1. Each merge gets consecutive regions, with about the same number of bytes.
func (m *merge) from(k int) int {
	sizes := make([]int64, m.plan.Regions())
	for _, s := range m.all {
		for _, r := range s.Regions {
			sizes[r.Region] += r.Bytes
		}
	}
	for i := 1; i < len(sizes); i++ {
		sizes[i] += sizes[i-1]
	}
	return cut(sizes, k-1, m.of.N)
}

// done returns a result if the manifests already exist, regardless of the requested merge.
func (m *merge) done(ctx context.Context) (*Result, error) {
	r := &Result{}
	for _, t := range m.tables(build.Output{Dir: m.out.dir}) {
		have, err := manifest.Read(ctx, m.out.fs, t.Out.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fail.With(fail.Input, err)
		}
		r.Manifests = append(r.Manifests, have)
		if err := m.found(ctx, r, path.Join(t.Out.Dir, manifest.FileName)); err != nil {
			return nil, err
		}
	}
	if _, err := m.read(ctx, m.of); err != nil {
		return nil, err
	}
	if err := m.endWriting(ctx); err != nil { // of a merge that was killed before doing so
		return nil, err
	}
	m.work.Events.Note("the files are merged already", "dir", m.out.given)
	return r, nil
}

// found records that an earlier merge wrote a file at its end.
func (m *merge) found(ctx context.Context, r *Result, file string) error {
	info, err := m.out.fs.Stat(ctx, file)
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	if at := info.ModTime().UTC(); at.After(r.DoneAt) {
		r.DoneAt = at
	}
	return nil
}

// write writes the regions of this merge.
func (m *merge) write(ctx context.Context) (*Merged, error) {
	from, to := m.from(m.of.K), m.from(m.of.K+1)
	runs, closeRuns, err := m.shares.openRuns(ctx, m.all, m.plan.Regions())
	if err != nil {
		return nil, err
	}
	out := build.Output{FS: m.out.fs, Dir: m.out.dir, Shared: true, Writing: path.Join(build.WritingDir, m.of.name("merge")+"."+token())}
	if m.plan.NewKeys != nil { // the output is a staging directory
		out.FileMode, out.DirMode, out.Identify = 0o666, 0o777, true
	}
	if _, local := m.out.fs.(hdfsio.Local); !local {
		out.Uploads = upload.NewLimiter(m.work.Uploads)
	}
	size := 0
	for _, s := range m.all {
		size = max(size, s.ChunkSize)
	}
	if err := progress.Pass(ctx, m.work.Gate); err != nil {
		return nil, errors.Join(err, closeRuns())
	}
	o := build.Options{Workers: m.work.Workers, Memory: m.work.Memory, Events: m.work.Events, Gate: m.work.Gate}
	written, err := build.MergeParts(ctx, m.tables(out), runs, size, func(region int) bool { return region >= from && region < to }, m.plan, o)
	if err = errors.Join(damagedShare(err), closeRuns()); err != nil {
		// Another attempt of this merge may have finished, and removed the files that this one was writing.
		if d, readErr := m.read(ctx, m.of); readErr == nil {
			m.work.Events.Note("another attempt has merged these regions meanwhile", "merge", m.of.String(), "error", err)
			return d, nil
		}
		return nil, err
	}
	d := &Merged{Schema: 1, Plan: m.plan.Checksum, Rows: m.rows, Merge: m.of.K, Merges: m.of.N, From: from, To: to, Written: *written[0], Tables: written[1:]}
	err = WriteSealed(ctx, m.out.fs, m.out.path(path.Join(mergeDir, m.of.name("merge")+".json")), d, &d.Checksum)
	if errors.Is(err, fs.ErrExist) {
		m.work.Events.Note("another attempt has merged these regions meanwhile", "merge", m.of.String())
		return m.read(ctx, m.of)
	}
	return d, err
}

// finish writes the manifests, if all merges are done.
func (m *merge) finish(ctx context.Context, own *Merged) (_ *Result, err error) {
	r := &Result{}
	var written [][]*build.Written
	for k := 1; k <= m.of.N; k++ {
		of := Fraction{k, m.of.N}
		d, err := own, error(nil)
		if k != m.of.K {
			d, err = m.read(ctx, of)
		}
		if errors.Is(err, fs.ErrNotExist) {
			r.Missing = append(r.Missing, of)
			continue
		}
		if err != nil {
			return nil, err
		}
		written = append(written, d.written())
	}
	if len(r.Missing) > 0 {
		return r, nil
	}
	if err := m.plan.unchanged(ctx, m.files); err != nil {
		return nil, err
	}
	if r.Manifests, err = build.Assemble(m.plans, m.parts(), written, m.plan.Job.AllowEmpty); err != nil {
		return nil, err
	}
	if err := build.Met(r.Manifests, m.job.Checks(), nil, m.work.Events); err != nil {
		return nil, err
	}
	for i, t := range m.tables(build.Output{Dir: m.out.dir}) {
		b, err := manifest.Seal(r.Manifests[i])
		if err != nil {
			return nil, err
		}
		// Two merges may both find themselves the last; they write the same files.
		if err := WriteOnce(ctx, m.out.fs, path.Join(t.Out.Dir, manifest.FileName), b); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fail.With(fail.HDFS, err)
		}
	}
	return r, m.endWriting(ctx)
}

// endWriting removes the incomplete files of attempts that another one has overtaken.
func (m *merge) endWriting(ctx context.Context) error {
	for _, t := range m.tables(build.Output{Dir: m.out.dir}) {
		if err := m.out.fs.RemoveAll(ctx, path.Join(t.Out.Dir, build.WritingDir)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// MissingText lists the unfinished merges.
func (r *Result) MissingText() string { return few(r.Missing) }
