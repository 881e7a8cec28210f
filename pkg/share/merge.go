package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/upload"
)

// mergeDir is where merges note what they have done, below the output.
const mergeDir = build.MergeDir

// Merged is what merge K of M has written: its regions, from one on and before another.
type Merged struct {
	Schema   int    `json:"schema"` // 1
	Plan     string `json:"plan"`
	Rows     string `json:"rows"` // which rows were merged: those of shares that have read the same
	Merge    int    `json:"merge"`
	Merges   int    `json:"merges"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Checksum string `json:"checksum"`
	build.Written
}

// Result is what a merge came to.
type Result struct {
	Manifest *manifest.Manifest // of all; nil while other merges have not written their regions
	Missing  []Of               // those merges
}

// Merge writes the HFiles of the regions of merge K of M, from shares in the directory dir, below out. The last one of the M also writes
// the manifest. Merges that are done already write nothing.
func Merge(ctx context.Context, files build.Files, p *Plan, dir, out string, of Of, w build.WorkOptions) (r *Result, err error) {
	m := &merge{plan: p, of: of, w: w, files: files}
	if m.built, err = p.resolve(); err != nil {
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
	begin(w.Events, nil, m.built, p, out, "write")
	own, err := m.read(ctx, of)
	if errors.Is(err, fs.ErrNotExist) {
		own, err = m.write(ctx)
	}
	if err != nil {
		return nil, err
	}
	return m.finish(ctx, own)
}

// merge is one under way.
type merge struct {
	plan   *Plan
	built  *build.Plan
	of     Of
	files  build.Files
	w      build.WorkOptions
	shares directory
	all    []*Share
	rows   string
	out    directory
}

// findShares reads what shares have left and judges it as a whole.
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
	if m.all, err = m.shares.complete(found, m.built.Ranges.Len()); err != nil {
		return err
	}
	var sums struct {
		Plan string
		Sums []build.SplitSums
		Sum  string
	}
	sums.Plan = m.plan.Checksum
	var all build.SplitSums
	for _, s := range m.all {
		all = append(all, s.Sums...)
	}
	sums.Sums = []build.SplitSums{all}
	if _, err := seal(&sums, &sums.Sum); err != nil {
		return err
	}
	m.rows = sums.Sum
	if err := build.Judge(m.parts(), m.plan.Job); err != nil {
		return err
	}
	build.WarnLacking(m.parts(), m.w.Events)
	return nil
}

func (m *merge) parts() (parts []*build.PartRead) {
	for _, s := range m.all {
		parts = append(parts, &s.PartRead)
	}
	return parts
}

// open prepares the output: a directory that is missing or empty, or that merges of the same rows have begun.
func (m *merge) open(ctx context.Context, out string) error {
	fsys, name, err := m.files.Resolve(out)
	if err != nil {
		return err
	}
	m.out = directory{fsys, name, out}
	entries, err := fsys.ReadDir(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail.With(fail.HDFS, err)
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

// readFile reads what a merge has noted, and refuses a merge of other rows or of another number.
func (m *merge) readFile(ctx context.Context, name string) (*Merged, error) {
	d := &Merged{}
	file := m.out.path(path.Join(mergeDir, name))
	if err := readSealed(ctx, m.out.fs, file, d, &d.Checksum); err != nil {
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

// read is what a merge has done; fs.ErrNotExist if it is not done, or if its files are gone.
func (m *merge) read(ctx context.Context, of Of) (*Merged, error) {
	d, err := m.readFile(ctx, of.name("merge")+".json")
	if err != nil {
		return nil, err
	}
	if d.From != m.from(of.K) || d.To != m.from(of.K+1) || d.Merge != of.K {
		return nil, fail.Errorf(fail.Input, "%s says that merge %s has regions %d to %d: merge into another directory", m.out.given, of, d.From, d.To)
	}
	for _, f := range d.Files {
		info, err := m.out.fs.Stat(ctx, m.out.path(f.Name))
		if err == nil && info.Size() != f.Bytes {
			err = fail.Errorf(fail.Input, "%s has %d bytes, merge %s wrote %d: merge into another directory", m.out.path(f.Name), info.Size(), of, f.Bytes)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fail.Errorf(fail.Input, "%s is gone, which merge %s wrote: merge into another directory", m.out.path(f.Name), of)
		}
		if err != nil {
			return nil, fail.With(fail.HDFS, err)
		}
	}
	return d, nil
}

// from is the first region of merge k, from 1: regions that follow each other, with about as many bytes as those of every other merge.
func (m *merge) from(k int) int {
	sizes := make([]int64, m.built.Ranges.Len())
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

// done says that the manifest is there already, for whatever merge is asked for.
func (m *merge) done(ctx context.Context) (*Result, error) {
	have, err := manifest.Read(ctx, m.out.fs, m.out.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	if _, err := m.read(ctx, m.of); err != nil {
		return nil, err
	}
	m.w.Events.Note("the files are merged already", "dir", m.out.given)
	return &Result{Manifest: have}, nil
}

// write writes the regions of this merge.
func (m *merge) write(ctx context.Context) (*Merged, error) {
	from, to := m.from(m.of.K), m.from(m.of.K+1)
	runs, closeRuns, err := m.shares.openRuns(ctx, m.all, m.built.Ranges.Len())
	if err != nil {
		return nil, err
	}
	out := build.Output{FS: m.out.fs, Dir: m.out.dir, Shared: true, Writing: path.Join(build.WritingDir, m.of.name("merge")+"."+token())}
	if _, local := m.out.fs.(hdfsio.Local); !local {
		out.Uploads = upload.NewLimiter(m.w.Uploads)
	}
	size := 0
	for _, s := range m.all {
		size = max(size, s.ChunkSize)
	}
	if err := progress.Pass(ctx, m.w.Gate); err != nil {
		return nil, errors.Join(err, closeRuns())
	}
	o := build.Options{Workers: m.w.Workers, Memory: m.w.Memory, Events: m.w.Events, Gate: m.w.Gate}
	written, err := build.MergeParts(ctx, m.built, runs, size, func(region int) bool { return region >= from && region < to }, m.plan, out, o)
	if err = errors.Join(damagedShare(err), closeRuns()); err != nil {
		// Another attempt of this merge may have finished, and removed what this one was writing.
		if d, readErr := m.read(ctx, m.of); readErr == nil {
			m.w.Events.Note("another attempt has merged these regions meanwhile", "merge", m.of.String(), "error", err)
			return d, nil
		}
		return nil, err
	}
	d := &Merged{Schema: 1, Plan: m.plan.Checksum, Rows: m.rows, Merge: m.of.K, Merges: m.of.N, From: from, To: to, Written: *written}
	b, err := seal(d, &d.Checksum)
	if err != nil {
		return nil, err
	}
	err = writeOnce(ctx, m.out.fs, m.out.path(path.Join(mergeDir, m.of.name("merge")+".json")), b)
	if errors.Is(err, fs.ErrExist) {
		m.w.Events.Note("another attempt has merged these regions meanwhile", "merge", m.of.String())
		return m.read(ctx, m.of)
	}
	return d, fail.With(fail.HDFS, err)
}

// finish writes the manifest, if all merges are done.
func (m *merge) finish(ctx context.Context, own *Merged) (*Result, error) {
	r := &Result{}
	var written []*build.Written
	for k := 1; k <= m.of.N; k++ {
		of := Of{k, m.of.N}
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
		written = append(written, &d.Written)
	}
	if len(r.Missing) > 0 {
		return r, nil
	}
	if err := m.plan.unchanged(ctx, m.files); err != nil {
		return nil, err
	}
	var err error
	if r.Manifest, err = build.Assemble(ctx, m.built, m.parts(), written, m.plan.Job.AllowEmpty); err != nil {
		return nil, err
	}
	b, err := manifest.Seal(r.Manifest)
	if err != nil {
		return nil, err
	}
	// The last of several merges may be two; what they write is the same.
	if err := writeOnce(ctx, m.out.fs, m.out.path(manifest.FileName), b); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fail.With(fail.HDFS, err)
	}
	return r, fail.With(fail.HDFS, m.out.fs.RemoveAll(ctx, m.out.path(build.WritingDir)))
}

// MissingText names merges that are still to come.
func (r *Result) MissingText() string {
	const most = 10
	var names []string
	for _, of := range r.Missing[:min(most, len(r.Missing))] {
		names = append(names, of.String())
	}
	return strings.Join(names, ", ") + cmp.Or(map[bool]string{true: ", …"}[len(r.Missing) > most], "")
}
