package job

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"
)

// RunParts runs one job for each directory that has files of the inputs, in the
// order of their names, as [Run] would with that directory as its input. It stops
// at the first failure, so that a later directory never has older cells than an
// earlier one. The same call resumes. One lock is held for the whole, so that two
// calls cannot work on it concurrently.
//
// The result has the totals of the parts, and the status of each, also if there is
// an error.
func RunParts(ctx context.Context, env *cluster.Env, s spec.Job, o RunOptions) (_ *result.Result, err error) {
	start := time.Now()
	switch {
	case len(o.Also) > 0:
		return nil, fail.With(fail.Config, abilities.Refusal(abilities.Clusters, abilities.SplitBy))
	case s.Replace && o.Into != "":
		return nil, fail.With(fail.Config, abilities.Refusal(abilities.Into, abilities.SplitBy))
	case s.Replace:
		return nil, fail.With(fail.Config, abilities.Refusal(abilities.Replace, abilities.SplitBy))
	}
	if _, err := cluster.TableName(s); err != nil {
		return nil, err
	}
	if err := refuseTables(s, abilities.Input, abilities.SplitBy); err != nil {
		return nil, err
	}
	c, cluster, unreached := clusterOf(ctx, env, o.State)
	if c != nil {
		defer c.Close()
	}
	state := ""
	if unreached == nil {
		var lock *checkpoint.Lock
		if state, lock, err = lockParts(ctx, env, c, s, cluster, o.State, o.Events); err != nil {
			return nil, err
		}
		if lock != nil {
			defer func() { err = errors.Join(err, lock.Release()) }()
		}
		if err := checkpoint.Refresh(ctx, env, o.State.Dir); err != nil {
			return nil, err
		}
	}
	dirs, err := directories(ctx, env, s)
	if err != nil {
		return nil, err // detected also without a cluster
	}
	p := newParts(env, s, o, dirs)
	switch err = unreached; {
	case unreached == nil:
		p.conn, p.cluster, p.result.Job = c, cluster, state
		if err = p.restart(ctx, p.look); err == nil {
			err = p.run(ctx)
		}
	case len(dirs) > 0:
		p.failed(ctx, 0, nil, unreached, time.Since(start))
		err = p.errorOf(0, unreached)
	}
	p.total()
	p.result.Elapsed = time.Since(start)
	return p.result, err
}

// parts is the state of one RunParts.
type parts struct {
	env     *cluster.Env
	spec    spec.Job
	options RunOptions
	dirs    []source.Directory
	labels  []string // in the names of the parts' files of records
	cluster string   // cluster id
	conn    *loader.Cluster
	result  *result.Result
	results []*result.Result    // of the parts, nil if unknown
	begun   []bool              // parts that an earlier run has begun
	taken   bool                // the job of a part has taken the snapshot
	first   int                 // the part whose job takes the snapshot; -1: none
	behind  progress.PartsWork  // parts that this run did completely
	ahead   progress.PartsWork  // parts that are neither done nor begun
	clock   *progress.WaitClock // nil without a gate
	counted progress.Records    // of the current part
}

func newParts(env *cluster.Env, s spec.Job, o RunOptions, dirs []source.Directory) *parts {
	p := &parts{env: env, spec: s, options: o, dirs: dirs, labels: labels(dirs), result: &result.Result{Schema: 1, Table: s.Table, Parts: make([]result.Part, len(dirs))}, results: make([]*result.Result, len(dirs))}
	for i, d := range dirs {
		p.result.Parts[i] = result.Part{Input: d.Path, Status: result.PartLeft, Files: len(d.Files), Bytes: totalSize(d.Files)}
	}
	return p
}

// labels returns the names by which files of records differ. Where [build.FileOf] would give directories the same file, a name ends with a sum of its
// path.
func labels(dirs []source.Directory) (all []string) {
	parts := map[string]int{}
	for _, d := range dirs {
		parts[build.FileOf("", d.Name)]++
	}
	for _, d := range dirs {
		label := d.Name
		if parts[build.FileOf("", d.Name)] > 1 {
			label += fmt.Sprintf(".%08x", crc32.ChecksumIEEE([]byte(d.Path)))
		}
		all = append(all, label)
	}
	return all
}

// errorOf returns the error of a failed part.
func (p *parts) errorOf(i int, err error) error {
	return fmt.Errorf("directory %s (%d of %d): %w", p.dirs[i].Path, i+1, len(p.dirs), err)
}

func (p *parts) run(ctx context.Context) error {
	known, newest, err := p.doneBefore()
	if err != nil {
		return err
	}
	p.chooseSnapshot(known)
	if p.options.Gate != nil {
		p.clock = &progress.WaitClock{Gate: p.options.Gate}
		p.options.Gate = p.clock
	}
	skipped := 0
	for i, r := range known {
		if r != nil {
			p.setResult(i, result.PartAlready, r)
			skipped++
		} else {
			p.ahead.Add(totalSize(p.dirs[i].Files), 0)
		}
	}
	if skipped > 0 {
		p.options.Events.Note("directories that were done before are skipped", "directories", skipped, "of", len(p.dirs))
	}
	for i, d := range p.dirs {
		if known[i] != nil && i != newest {
			continue
		}
		begun := time.Now()
		if known[i] == nil {
			p.ahead.Parts--
			p.ahead.Bytes -= totalSize(d.Files)
			p.options.Events.Note("directory begins", "directory", d.Path, "number", i+1, "of", len(p.dirs), "files", len(d.Files), "bytes", totalSize(d.Files))
		}
		waited := p.clock.Waited()
		r, err := Run(ctx, p.env, p.partSpec(i), p.partOptions(i))
		if r == nil || !r.Already {
			p.result.Parts[i].Began = begun.UTC()
		}
		if err != nil {
			p.failed(ctx, i, r, err, time.Since(begun))
			return p.errorOf(i, err)
		}
		if r.Already {
			p.setResult(i, result.PartAlready, r)
			continue
		}
		p.setResult(i, result.PartDone, r)
		if !p.begun[i] {
			p.behind.Add(totalSize(d.Files), r.Elapsed-(p.clock.Waited()-waited))
		}
		p.options.Events.Note("directory done", "directory", d.Path, "number", i+1, "of", len(p.dirs), "rows", p.result.Parts[i].Rows, "took", r.Elapsed.Round(time.Millisecond))
	}
	return nil
}

// partSpec returns the job of a directory. It equals the job with the directory
// given as its input, so that the load of a nightly run is not repeated.
func (p *parts) partSpec(i int) spec.Job {
	s := p.spec
	s.Inputs = []string{p.dirs[i].Path}
	return s
}

func (p *parts) partOptions(i int) RunOptions {
	o := p.options
	o.part, o.parts, o.behind, o.ahead = i+1, len(p.dirs), p.behind, p.ahead
	p.counted = progress.Records{}
	o.Events = progress.Tee(o.Events, progress.Events{OnRecords: func(r progress.Records) { p.counted = r }})
	if i != p.first {
		o.Snapshot = "" // one snapshot before all parts that are to be loaded
	}
	for _, file := range []*string{&o.RejectFile, &o.FilteredFile, &o.DuplicatesFile} {
		if *file != "" {
			*file = build.FileOf(*file, p.labels[i])
		}
	}
	return o
}

// chooseSnapshot chooses the part whose job takes the snapshot: the first one that is to be loaded, unless an earlier attempt has taken it.
func (p *parts) chooseSnapshot(known []*result.Result) {
	if p.first = slices.Index(known, nil); p.taken {
		p.first = -1
		p.options.Events.Note("the job of a directory has taken the snapshot before", "snapshot", p.options.Snapshot)
	}
}

// doneBefore returns the results of parts that earlier runs have done, according to
// their journals and without reading the table: there may be thousands. It excludes
// parts whose files have changed since, and parts that were undone: their runs
// report that.
//
// newest is the part that was done last. Its rows are verified in the table, which
// may have been emptied; rows of the other parts may have newer cells by now. It is
// -1 if another part was being loaded after it.
func (p *parts) doneBefore() (known []*result.Result, newest int, err error) {
	known, newest = make([]*result.Result, len(p.dirs)), -1
	p.begun = make([]bool, len(p.dirs))
	if p.options.State.Dir == "" {
		return known, newest, nil
	}
	var last time.Time
	loading := false
	for i := range p.dirs {
		dir, err := p.stateDir(i)
		if err != nil {
			return nil, -1, err
		}
		h, err := readHistory(dir)
		if err != nil {
			return nil, -1, err
		}
		p.begun[i] = h.Plan != nil && !h.Finished
		p.taken = p.taken || h.Snapshot != "" && h.Snapshot == p.options.Snapshot
		loading = loading || h.Loading && !h.Finished
		if !h.Finished || h.Undo != nil || h.Result == nil || h.Plan == nil || !p.matches(h, i) {
			continue
		}
		known[i] = h.Result
		known[i].Job, known[i].DoneAt = dir, h.FinishedAt
		if h.FinishedAt.After(last) {
			newest, last = i, h.FinishedAt
		}
	}
	if loading {
		newest = -1
	}
	return known, newest, nil
}

// readHistory reads the journal of a job that may be running; the history is empty
// if there is none.
func readHistory(dir string) (history.History, error) {
	h, err := history.Read(dir)
	if unreadable := new(fs.PathError); errors.As(err, &unreadable) {
		return h, fail.With(fail.Config, err)
	} else if err != nil {
		return h, checkpoint.Damaged(dir, fmt.Errorf("journal of the job in %s: %w", dir, err))
	}
	return h, nil
}

func (p *parts) setResult(i int, status result.PartStatus, r *result.Result) {
	p.results[i] = r
	part := &p.result.Parts[i]
	part.Status, part.Job = status, r.Job
	if status == result.PartDone {
		part.Elapsed = r.Elapsed
	}
	if m := r.Manifest; m != nil {
		part.Records, part.Rows, part.Cells, part.HFiles, part.Written = m.Records, m.Digest.Rows, m.Digest.Cells, m.HFiles, m.Bytes
		part.Rejected, part.Filtered, part.RejectFile, part.FilteredFile, part.DuplicatesFile = m.Rejected, m.Filtered, m.RejectFile, m.FilteredFile, m.DuplicatesFile
	}
}

func (p *parts) failed(ctx context.Context, i int, r *result.Result, err error, took time.Duration) {
	part := &p.result.Parts[i]
	if p.cluster != "" {
		dir, _ := p.stateDir(i)
		if _, err := os.Stat(dir); err == nil { // else nothing was done
			part.Job = dir
		}
	}
	part.Status, part.Error, part.Elapsed = statusOf(ctx, err), err.Error(), took
	part.Records, part.Rejected, part.Filtered = p.counted.Read, p.counted.Rejected, p.counted.Filtered
	if bad, ok := errors.AsType[*fail.RejectsError](err); ok {
		part.RejectFile = bad.File
	}
	if r != nil {
		p.result.Staging = r.Staging // where files are kept
	}
}

func totalSize(files []source.FileInfo) (n int64) {
	for _, f := range files {
		n += f.Size
	}
	return n
}
