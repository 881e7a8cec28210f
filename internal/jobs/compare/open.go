package compare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// openAll opens both sides, exports last: their HFiles are divided at the other side's region boundaries.
func (j *run) openAll(ctx context.Context) (err error) {
	j.options.Events.Phase("snapshot")
	sides := []struct {
		side  Side
		place string
		to    **opened
	}{{j.req.A, history.PlaceA, &j.a}, {j.req.B, history.PlaceB, &j.b}}
	for _, s := range sides { // both snapshots are recorded before the first is taken
		if err := j.recordSnapshot(s.side, s.place); err != nil {
			return err
		}
	}
	if err := workers.Run(ctx, len(sides), func(_ context.Context, i int) (err error) { // the opened sides outlive this context
		s := sides[i]
		if s.side.Export != nil {
			return nil
		}
		if *s.to, err = j.open(ctx, s.side, s.place); err != nil && !strings.HasPrefix(err.Error(), s.side.name()) {
			err = fmt.Errorf("%s: %w", s.side.name(), err)
		}
		return err
	}); err != nil {
		return err
	}
	for i, s := range sides {
		if s.side.Export != nil {
			if *s.to, err = j.export(ctx, s.side, *sides[1-i].to); err != nil {
				return err
			}
		}
	}
	j.recall()
	if j.req.Key != "" {
		if j.a, err = j.rekeyed(ctx); err != nil {
			return err
		}
	}
	v := j.req.view(j.now)
	for _, o := range []*opened{j.a, j.b} {
		if err := o.check(v); err != nil {
			return err
		}
	}
	return nil
}

// recordSnapshot records the snapshot of a side before it is taken, unless the side needs none.
func (j *run) recordSnapshot(s Side, place string) error {
	if !s.isTable() || j.options.ReadBy == tablesource.ByScan {
		return nil
	}
	_, err := job.RecordSnapshot(j.job, s.Table, history.ReadSnapshotRecord{Place: place, Conf: s.Conf})
	return err
}

// open opens a side, except for an export.
func (j *run) open(ctx context.Context, s Side, place string) (*opened, error) {
	if s.Dir != "" {
		return openFiles(ctx, s)
	}
	o := tablesource.Options{By: j.options.ReadBy, Choice: j.req.Choice}
	ref := tablesource.Ref{Table: s.Table, Snapshot: s.Snapshot}
	if own, ok := j.job.OwnSnapshots[place]; ok {
		o.Name, o.Created, o.Keep = own.Snapshot, own.Created, true
	} else if s.Snapshot != "" {
		o.By = tablesource.ByFiles
	}
	src, err := tablesource.Open(ctx, s.Env, ref, o)
	if err != nil {
		return nil, err
	}
	src.Report(s.Env.Log.Warn)
	open := &opened{Side: s, snap: src.Snapshot, scan: src.Scanned, as: "snapshot", close: src.Close}
	if open.scan != nil {
		open.as, open.at = "scan", src.Scanned.Since()
	} else {
		open.at = src.Snapshot.Created
	}
	return open, nil
}

// openFiles opens a directory of HFiles.
func openFiles(ctx context.Context, s Side) (*opened, error) {
	fsys, dir, err := s.Env.Resolve(s.Dir)
	if err != nil {
		return nil, err
	}
	files, err := job.ListHFiles(ctx, fsys, dir)
	if err != nil {
		at, _ := s.Env.Conf.Resolve(s.Dir)
		return nil, cluster.Absent(at, err)
	}
	o, err := looseOf(s, fsys, dir, files, "hfiles")
	if err != nil {
		return nil, err
	}
	o.sum, err = identityOf(ctx, fsys, dir, files)
	return o, err
}

// identityOf returns a checksum of what distinguishes the files from others of the same names.
func identityOf(ctx context.Context, fsys hdfsio.FS, dir string, files []manifest.File) (string, error) {
	sum := sha256.New()
	for _, f := range files {
		info, err := fsys.Stat(ctx, path.Join(dir, f.Name))
		if err != nil {
			return "", fail.With(fail.Input, err)
		}
		id, _ := hdfsio.FileID(info)
		fmt.Fprintf(sum, "%q %d %d %d\n", f.Name, info.Size(), info.ModTime().UnixNano(), id)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// looseOf returns a side of HFiles that do not belong to a table.
func looseOf(s Side, fsys hdfsio.FS, dir string, files []manifest.File, as string) (*opened, error) {
	var loose []snapshot.LooseFile
	for _, f := range files {
		loose = append(loose, snapshot.LooseFile{Family: f.Family, Path: path.Join(dir, f.Name), Size: f.Bytes, First: f.FirstRow, Last: f.LastRow})
	}
	snap, err := snapshot.OfFiles(fsys, dir, loose)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	return &opened{Side: s, snap: snap, as: as}, nil
}

// export builds the HFiles of an export on local disk.
func (j *run) export(ctx context.Context, s Side, other *opened) (*opened, error) {
	if s.Export.Several() {
		return nil, fail.Errorf(fail.Config, "the job file has several tables: compare takes one of a table and its key")
	}
	dir, err := j.scratch()
	if err != nil {
		return nil, err
	}
	t := s.Export.Targets()[0]
	family, err := t.ApplyTo(spec.DefaultFamily(t.FamilyName()))
	if err != nil {
		return nil, err
	}
	unmount, err := tablesource.Mount(ctx, s.Env, s.Export.Inputs, tablesource.ReadBy(s.Export.ReadBy), s.Export.Choice(), s.Export.KeyParser)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := unmount(ctx); err != nil {
			j.options.Events.Warn("a snapshot is left behind", "error", err)
		}
	}()
	work := j.options.WorkOptions
	if err := job.KeepRejects(&work, j.job.Dir); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "export")
	js, err := salted(ctx, *s.Export, other)
	if err != nil {
		return nil, err
	}
	all, err := build.Directories(ctx, s.Env, js, []build.Shape{{Families: []spec.Family{family}, Splits: other.starts()}}, out, work)
	if err != nil {
		return nil, err
	}
	m := all[0]
	if err := j.refuseExport(s, m); err != nil {
		return nil, err
	}
	o, err := looseOf(s, hdfsio.Local{}, out, m.Files, "export")
	if o != nil {
		o.sum, o.at, o.rejected, o.rejectFile = builtSum(m, s.Export.Timestamp), time.Now(), m.Rejected, m.RejectFile
	}
	return o, err
}

// refuseExport refuses a repair by an export that cannot be B's whole content: B would lose the rows that it lacks.
func (j *run) refuseExport(s Side, m *manifest.Manifest) error {
	switch {
	case !j.req.Repair:
	case m.Digest.Rows == 0:
		return j.wouldEmpty()
	case m.Rejected > 0 && !s.Export.ReplaceRejected:
		return fail.With(fail.Check, setting.Errorf("table %s is not repaired: %s rejected, whose rows it would lose (%s): correct the export, or say replace_rejected: true in the job file",
			j.req.B.Table, setting.Count(m.Rejected, "record"), m.RejectFile))
	}
	return nil
}

// wouldEmpty returns the error about a repair by a side without rows.
func (j *run) wouldEmpty() error {
	return fail.With(fail.Check, setting.Errorf("table %s is not repaired: A has no rows, so all of its rows would be deleted (truncate_preserve in HBase's shell empties a table)", j.req.B.Table))
}

// builtSum returns a checksum of the cells of an export. The digest of its rows covers neither the names of the cells nor the timestamp that the job
// gives them all; that of a job without one is the build's, and is not compared.
func builtSum(m *manifest.Manifest, timestamp int64) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %q %q %q", m.Digest, timestamp, m.Family, m.Columns, m.Cells)
	return hex.EncodeToString(sum.Sum(nil))
}

// rekeyed builds HFiles of A's rows with B's keys on local disk.
func (j *run) rekeyed(ctx context.Context) (*opened, error) {
	dir, err := j.scratch()
	if err != nil {
		return nil, err
	}
	keys, keysErr := j.req.keys()
	ranges, rangesErr := partition.New(j.b.starts())
	budget, budgetErr := source.NewBudget("")
	if err := cmp.Or(keysErr, rangesErr, budgetErr); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	a := j.a
	w := j.options.WorkOptions
	p := &newkeys.Plan{Table: j.req.tableName().String(), Key: keys.key, OldKey: keys.old, Families: spec.DefaultFamilies(a.families()), Ranges: ranges, Now: j.now, Duplicates: extsort.Fail}
	out := filepath.Join(dir, "keys")
	if err := (hdfsio.Local{}).MkdirAll(ctx, out, 0o700); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	m, err := newkeys.Build(ctx, a.snap, p, build.Output{FS: hdfsio.Local{}, Dir: out},
		newkeys.Options{Options: build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, SpillLimit: w.SpillLimit, Budget: budget, Events: w.Events, Gate: w.Gate}}, nil)
	if err != nil {
		return nil, err
	}
	o, err := looseOf(a.Side, hdfsio.Local{}, out, m.Files, "snapshot, with new keys")
	if o != nil {
		o.at, o.close = a.at, a.close
	}
	return o, err
}

// starts returns the first rows of the side's regions, without the first region.
func (o *opened) starts() [][]byte {
	switch {
	case o == nil: // nil: both are exports
	case o.scan != nil:
		return o.scan.Starts[1:]
	case o.as == "snapshot":
		return o.snap.Splits()
	}
	return nil
}

// fingerprint identifies the side's contents across attempts. A scanned table has only its name.
func (o *opened) fingerprint() string {
	switch {
	case o.scan != nil:
		return "scan " + o.name()
	case o.as == "snapshot":
		return "snapshot " + hex.EncodeToString(o.snap.Checksum[:])
	}
	return o.as + " " + o.sum
}
