package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"

	"bulkload/internal/base/durable"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Adopted is the result of a successful job.
type Adopted struct {
	Manifests []*manifest.Manifest  // one of each table
	Regions   []build.WrittenRecord // regions with files, under their names in the staging directory
	Maps      []*MapDone            // in the order of the input
	Reduces   []*ReduceDone
	Tasks     []result.Task // maps, then reduces
}

// committed reports whether the job's output is complete: its ApplicationMaster writes the _SUCCESS file last.
func committed(ctx context.Context, fsys hdfsio.FS, dir string) (bool, error) {
	_, err := fsys.Stat(ctx, path.Join(dir, outName, successName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, fail.With(fail.HDFS, err)
}

// readWorkAt reads the work file of a submitted job.
func readWorkAt(ctx context.Context, fsys hdfsio.FS, dir string) (*Work, error) {
	w := &Work{}
	name := path.Join(dir, WorkName)
	if err := share.ReadSealed(ctx, fsys, name, w, &w.Checksum); err != nil {
		return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w", name, err))
	}
	return w, w.validate()
}

// readReduces reads the descriptions of all reduces.
func readReduces(ctx context.Context, fsys hdfsio.FS, out string, w *Work) (all []*ReduceDone, err error) {
	for i := range w.Reduces {
		d := &ReduceDone{}
		name := path.Join(out, reduceFile(i))
		err := share.ReadSealed(ctx, fsys, name, d, &d.Checksum)
		if err == nil && (d.Schema != 1 || d.Work != w.Checksum || d.Reduce != i) {
			err = errors.New("it belongs to another job")
		}
		if err != nil {
			return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, d)
	}
	return all, nil
}

// parts returns the records of all maps' input.
func parts(maps []*MapDone) (all []*build.PartRead) {
	for _, m := range maps {
		all = append(all, &m.PartRead)
	}
	return all
}

// Adopt takes over the complete output of a job: it compares the output of the reduces with the input of the maps, renames the HFiles to their names
// in the staging directory, where of several tables each has a directory of its own, and creates the manifests. rejects and filtered are the local
// files for bad records and for records that the filter leaves out, empty for none. After an error, or a crash, it may be called again. Other files
// of the job stay.
func Adopt(ctx context.Context, dir string, w *Work, out build.Output, rejects, filtered string) (*Adopted, error) {
	from := path.Join(dir, outName)
	job, plans, err := w.Plan.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	a := &Adopted{}
	if a.Maps, err = readMaps(ctx, out.FS, dir, w); err != nil {
		return nil, err
	}
	rejected, err := joinRejects(ctx, out.FS, dir, a.Maps, func(m *MapDone) string { return m.Rejects }, rejects)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	if err := w.Plan.Judge(parts(a.Maps)); err != nil {
		if rejected && rejects != "" {
			err = fail.WithRejects(err, rejects)
		}
		return nil, err
	}
	leftOut, err := joinRejects(ctx, out.FS, dir, a.Maps, func(m *MapDone) string { return m.LeftOut }, filtered)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	if a.Reduces, err = readReduces(ctx, out.FS, from, w); err != nil {
		return nil, err
	}
	var streams [][]*build.Streamed
	for _, r := range a.Reduces {
		streams = append(streams, r.streamed())
	}
	if a.Manifests, a.Regions, err = build.AssembleStreams(plans, parts(a.Maps), streams, w.Plan.Job.AllowEmpty); err != nil {
		return nil, err
	}
	tables := out.Tables(job, plans)
	if err := build.Prepare(ctx, tables); err != nil {
		return nil, err
	}
	built := build.Output{Dir: from}.Tables(job, plans)
	for i, m := range a.Manifests {
		if rejected {
			m.RejectFile = rejects
		}
		if leftOut {
			m.FilteredFile = filtered
		}
		for _, f := range m.Files {
			if err := adoptFile(ctx, tables[i].Out, built[i].Out.Dir, f); err != nil {
				return nil, fail.With(fail.HDFS, err)
			}
		}
	}
	return a, nil
}

// adoptFile renames an HFile to its name in the staging directory. If the file has the name already, an earlier call took it; another file of
// that name is from an earlier, unfinished attempt and is replaced.
func adoptFile(ctx context.Context, out build.Output, from string, f manifest.File) error {
	name := path.Join(out.Dir, f.Name)
	there, err := out.FS.Stat(ctx, name)
	if err == nil && isWritten(there, f) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	source := path.Join(from, f.Name)
	info, statErr := out.FS.Stat(ctx, source)
	if statErr != nil {
		return statErr
	}
	if !isWritten(info, f) {
		return fmt.Errorf("%s has %s, or is not the file that its reduce wrote, of %d", source, setting.Count(info.Size(), "byte"), f.Bytes)
	}
	if err == nil {
		if err := out.FS.Remove(ctx, name); err != nil {
			return err
		}
	}
	return out.FS.Rename(ctx, source, name)
}

// isWritten reports whether a file is the written one.
func isWritten(info fs.FileInfo, f manifest.File) bool {
	id, ok := hdfsio.FileID(info)
	return info.Size() == f.Bytes && (!ok || f.FileID == 0 || id == f.FileID)
}

// mapFile returns the name of the file that describes an attempt of a map. These files are in the job's directory and not in its output: in a job with reduces, a new ApplicationMaster does not take
// over the maps' committed output from its predecessor (JobImpl.scheduleTasks of Hadoop 3.4 requests that only without reduces). Each
// attempt that ended therefore has a description, and they must agree.
func mapFile(attempt string) string { return attempt + ".json" }

var mapName = regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{1,10}_m_[0-9]{1,9}_[0-9]{1,9}\.json$`)

// errNoMap reports a map without a finished attempt.
var errNoMap = errors.New("no attempt of a map wrote its description")

// readMaps reads the descriptions of all maps from a job's directory, in the order of the input. If a map has several attempts, it
// returns the last.
func readMaps(ctx context.Context, fsys hdfsio.FS, dir string, w *Work) ([]*MapDone, error) {
	dir = path.Join(dir, mapsName)
	entries, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	all := make([]*MapDone, w.Maps)
	for _, e := range entries {
		if !mapName.MatchString(e.Name()) {
			continue
		}
		d := &MapDone{}
		name := path.Join(dir, e.Name())
		err := share.ReadSealed(ctx, fsys, name, d, &d.Checksum)
		if err == nil && (d.Schema != 1 || d.Work != w.Checksum || d.Map < 1 || d.Map > w.Maps || mapFile(d.Attempt) != e.Name()) {
			err = errors.New("it belongs to another job")
		}
		if err != nil {
			return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w", name, err))
		}
		other := all[d.Map-1]
		if other != nil && !d.agrees(other) {
			return nil, fail.Errorf(fail.Input, "%s and %s have read other rows of the same part of the input: it has changed meanwhile, or a node is at fault", other.Attempt, d.Attempt)
		}
		if other == nil || d.Ran.Ended.After(other.Ran.Ended) {
			all[d.Map-1] = d
		}
	}
	for k, d := range all {
		if d == nil {
			return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w: %d of %d", dir, errNoMap, k+1, w.Maps))
		}
	}
	return all, nil
}

// agrees reports whether two attempts of a map have read the same input and written the same rows.
func (d *MapDone) agrees(o *MapDone) bool {
	return d.PartRead.Agrees(&o.PartRead) && reflect.DeepEqual(d.Regions, o.Regions)
}

// keepRejects copies a map's bad records, or the records that the filter leaves out, next to its description.
func (t *task) keepRejects(ctx context.Context, local, name string) error {
	f, err := os.Open(local)
	if err != nil {
		return err
	}
	defer f.Close()
	return hdfsio.WriteFile(ctx, t.fs, name, f, hdfsio.CreateOptions{Perm: 0o600})
}

// joinRejects joins the files of all maps into one local file, in the order of the input. It reports whether there are any.
func joinRejects(ctx context.Context, fsys hdfsio.FS, dir string, maps []*MapDone, of func(*MapDone) string, local string) (some bool, err error) {
	if some = slices.ContainsFunc(maps, func(m *MapDone) bool { return of(m) != "" }); !some || local == "" {
		return some, nil
	}
	return some, writeRejects(ctx, fsys, dir, maps, of, local)
}

func writeRejects(ctx context.Context, fsys hdfsio.FS, dir string, maps []*MapDone, of func(*MapDone) string, local string) error {
	return durable.ReplaceBy(local, func(w *os.File) (err error) {
		for _, m := range maps {
			if name := of(m); name != "" {
				err = errors.Join(err, appendFile(ctx, fsys, path.Join(dir, mapsName, path.Base(name)), w))
			}
		}
		return err
	})
}

func appendFile(ctx context.Context, fsys hdfsio.FS, name string, w io.Writer) (err error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(w, f)
	return err
}
