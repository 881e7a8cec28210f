package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/preflight"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
	"bulkload/pkg/setting"
	"bulkload/pkg/staging"
	"bulkload/pkg/upload"
)

// LoadOptions say how [LoadDir] works.
type LoadOptions struct {
	Verify  string // full, when the directory has a manifest, or off
	Staging string // directory on HDFS for files that are uploaded, default /tmp/bulkload-USER
	Stage   loader.Stage
	// MaxFiles is how many files one family of a region gets, default that of the configuration, else 32. More are merged.
	MaxFiles int
	// LoadConcurrency is how many regions of the whole table are asked to load at a time, default 2 of each region server, 8 while they are quick.
	LoadConcurrency int
	Uploads         upload.Options
	// TrustFiles leaves out the reading of all files before any of them is loaded: a damaged one is loaded as it is.
	TrustFiles bool
	// Unreplicated has peers of replication leave the load out.
	Unreplicated bool
	// PhoenixIndexes is ignore to load a table with indexes of Phoenix all the same. Default: it is refused.
	PhoenixIndexes string
	Gate           progress.Gate // where the load waits between its steps, default nowhere
	Events         progress.Events
}

// LoadDir loads a directory of HFiles, DIR/family/file: one that build made,
// or another program. Files on the cluster's HDFS are moved into the table;
// local ones are uploaded first and stay. With a manifest the table is
// verified by it. Every file is read as a whole before the first is loaded.
func LoadDir(ctx context.Context, env *cluster.Env, table, dir string, o LoadOptions) (*result.Result, error) {
	if err := progress.Pass(ctx, o.Gate); err != nil {
		return nil, err
	}
	start := time.Now()
	l, err := env.Conf.Resolve(dir)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	read := manifest.Read
	if o.TrustFiles {
		read = manifest.ReadUnchecked
	}
	m, err := read(ctx, fsys, l.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail.With(fail.Input, err)
	}
	files, err := listHFiles(ctx, fsys, l.Path)
	if err != nil {
		return nil, err
	}
	if m != nil {
		if err := sameFiles(m, files); err != nil {
			return nil, fail.With(fail.Input, fmt.Errorf("%s: %w", dir, err))
		}
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	facts, err := loadFacts(ctx, env, c, table, files)
	if err != nil {
		return nil, err
	}
	if err := phoenix(ctx, c, facts, o); err != nil {
		return nil, err
	}
	st := &stage{Dir: &staging.Dir{FS: fsys, Location: l}, out: build.Output{FS: fsys, Dir: l.Path}}
	begun := progress.Start{Table: facts.Name.String(), Attempt: 1, Inputs: []string{dir}, Files: len(files), Bytes: totalBytes(files), Phases: []string{"load"}}
	if l.Local() {
		begun.Phases = []string{"upload", "load"}
	} else {
		begun.Staging = st.Location.String()
	}
	all := manifest.Manifest{Timestamp: time.Now().UnixMilli(), Files: files, Stamped: true} // the cells' timestamps are their writer's
	if m != nil {
		all = *m
		all.Files = slices.Clone(m.Files)
	}
	prove := !o.TrustFiles && (!l.Local() || slices.ContainsFunc(all.Files, func(f manifest.File) bool { return f.CRC32C == 0 }))
	if prove {
		begun.Phases = slices.Insert(begun.Phases, 0, "check")
	}
	if m != nil && o.Verify == "full" {
		begun.Phases, begun.Verify = append(begun.Phases, "verify"), "full"
	}
	o.Events.Start(begun)
	if prove {
		if err := proveDir(ctx, st.out, all.Files, l.Local(), o); err != nil {
			return nil, err
		}
	}
	if l.Local() {
		o.Events.Phase("upload")
		o.Events.Total("upload", progress.Amount{Bytes: begun.Bytes})
		if st, err = copying(ctx, env, facts.Name.String(), st.out, all.Files, o); err != nil {
			return nil, err
		}
	}
	st.out.Uploads = upload.NewLimiter(o.Uploads)
	r := &result.Result{Schema: 1, Table: facts.Name.String(), Staging: st.Location.String(), Manifest: m}
	way := loadWay{stage: o.Stage, maxFiles: maxFiles(env, o.MaxFiles), calls: o.LoadConcurrency, gate: o.Gate, shared: true, proven: true, local: o.Unreplicated}
	rows, err := loadFiles(ctx, c, facts, st, &built{manifest: &all}, way, &checkpoint.Job{History: checkpoint.NewHistory()}, o.Events, r)
	if err != nil {
		return r, err
	}
	if m != nil && o.Verify == "full" {
		rows.manifest = m
		if _, err := rows.verify(ctx, c, o.Verify, o.Events, r); err != nil {
			return r, err
		}
	}
	if l.Local() {
		if err := st.Remove(ctx); err != nil {
			o.Events.Warn("staging directory is left behind", "path", r.Staging, "error", err)
		}
	}
	r.Elapsed = time.Since(start)
	return r, nil
}

// phoenix refuses a table with indexes of Phoenix, unless the caller ignores them.
func phoenix(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, o LoadOptions) error {
	check := preflight.Phoenix(ctx, c, facts.Table, o.PhoenixIndexes)
	switch check.Severity {
	case preflight.SeverityError:
		return fail.With(fail.Check, setting.Errorf("%s (%s)", check.Message, check.Hint))
	case preflight.SeverityWarning:
		o.Events.Warn("check", "check", check.Name, "warning", check.Message, "hint", check.Hint)
	}
	return nil
}

// copying copies local HFiles into a staging directory, each verified and then
// renamed, as a build writes them. What it learns of the copies is put in.
func copying(ctx context.Context, env *cluster.Env, table string, from build.Output, files []manifest.File, o LoadOptions) (st *stage, err error) {
	if st, err = openStage(ctx, env, o.Staging, table, time.Now().UnixMilli()); err != nil {
		return nil, err
	}
	st.out.Uploads = upload.NewLimiter(o.Uploads)
	made := st
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Remove(ctx))
		}
	}()
	for i := range files {
		f := &files[i]
		if err := progress.Pass(ctx, o.Gate); err != nil {
			return nil, err
		}
		if i == 0 || files[i-1].Family != f.Family {
			if err := st.out.Prepare(ctx, f.Family); err != nil {
				return nil, err
			}
		}
		if err := copyFile(ctx, st.out, from, f, o); err != nil {
			if d, ok := errors.AsType[*filecheck.DamagedError](err); ok {
				return nil, refuse(from.Dir, []*filecheck.DamagedError{d})
			}
			return nil, fail.With(fail.HDFS, fmt.Errorf("upload %s: %w", f.Name, err))
		}
	}
	return st, nil
}

// copyFile copies one file of another output into this one. The bytes that are
// sent are those that were proven, and those that are read back.
func copyFile(ctx context.Context, o, from build.Output, f *manifest.File, load LoadOptions) error {
	source := path.Join(from.Dir, f.Name)
	src, err := from.FS.Open(ctx, source)
	if err != nil {
		return err
	}
	defer src.Close()
	writing := path.Join(o.Dir, build.WritingDir, path.Base(f.Name))
	dst, err := o.Create(ctx, writing, hdfsio.CreateOptions{Perm: o.FileMode, BlockSize: (f.Bytes>>20 + 1) << 20})
	if err != nil {
		return err
	}
	w := &toldWriter{to: dst, told: load.Events.Written}
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{src}, make([]byte, 1<<20)); err != nil {
		return errors.Join(err, dst.Abort())
	}
	if !load.TrustFiles && w.sum != f.CRC32C {
		return errors.Join((&filecheck.Checker{FS: from.FS}).Differs(ctx, src, &filecheck.Target{File: *f, Path: source}, w.sum), dst.Abort())
	}
	if err := dst.Finish(); err != nil {
		return errors.Join(err, dst.Abort())
	}
	if f.CRC32C = w.sum; load.TrustFiles {
		err = filecheck.Written(ctx, o.FS, writing, *f)
	} else {
		err = filecheck.ReadBack(ctx, o.FS, writing, w.sum)
	}
	if err != nil {
		return err
	}
	info, err := o.FS.Stat(ctx, writing)
	if err != nil {
		return err
	}
	f.FileID, _ = hdfsio.FileID(info)
	return o.FS.Rename(ctx, writing, path.Join(o.Dir, f.Name))
}

// toldWriter reports what was written.
type toldWriter struct {
	to   io.Writer
	told func(bytes int64)
	sum  uint32 // CRC-32C of it
}

func (w *toldWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum = crc32.Update(w.sum, crc32.MakeTable(crc32.Castagnoli), p[:n])
	w.told(int64(n))
	return n, err
}

// loadFacts checks the table for every family that the files have.
func loadFacts(ctx context.Context, env *cluster.Env, c *loader.Cluster, table string, files []manifest.File) (*cluster.Facts, error) {
	var families []string
	for _, f := range files {
		if !slices.Contains(families, f.Family) {
			families = append(families, f.Family)
		}
	}
	return cluster.TableFacts(ctx, env, c, table, families...)
}

// listHFiles opens every file of every family. A file that is no HFile, or
// holds cells of another family, is an error: to skip it would lose rows.
func listHFiles(ctx context.Context, fsys hdfsio.FS, dir string) ([]manifest.File, error) {
	families, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	var files []manifest.File
	for _, d := range families {
		if strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") {
			if d.Name() == build.WritingDir {
				return nil, fail.Errorf(fail.Input, "%s holds %s: the build was not finished; build again", dir, build.WritingDir)
			}
			continue
		}
		if !d.IsDir() {
			return nil, fail.Errorf(fail.Input, "%s is no directory of a family: HFiles lie in %s/FAMILY/", path.Join(dir, d.Name()), dir)
		}
		list, err := fsys.ReadDir(ctx, path.Join(dir, d.Name()))
		if err != nil {
			return nil, fail.With(fail.Input, err)
		}
		for _, x := range list {
			f, err := describeFile(ctx, fsys, dir, d.Name(), x)
			if err != nil {
				return nil, fail.With(fail.Input, err)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fail.Errorf(fail.Input, "%s holds no HFiles (they lie in %s/FAMILY/)", dir, dir)
	}
	return files, nil
}

func describeFile(ctx context.Context, fsys hdfsio.FS, dir, family string, info fs.FileInfo) (manifest.File, error) {
	name := path.Join(dir, family, info.Name())
	if info.IsDir() {
		return manifest.File{}, fmt.Errorf("%s is a directory, where only HFiles should be", name)
	}
	m, err := filecheck.ReadMeta(ctx, fsys, name)
	if err != nil {
		return manifest.File{}, fmt.Errorf("%s: %w", name, err)
	}
	if m.Cells == 0 {
		return manifest.File{}, fmt.Errorf("%s has no cells: HBase refuses such a file", name)
	}
	if string(m.Family) != family {
		return manifest.File{}, fmt.Errorf("%s holds cells of family %q: it lies in the directory of another", name, m.Family)
	}
	return manifest.File{Name: path.Join(family, info.Name()), Family: family, FirstRow: m.FirstRow, LastRow: m.LastRow, Cells: m.Cells, Bytes: m.Bytes}, nil
}

// sameFiles says whether the directory still holds what the manifest lists.
func sameFiles(m *manifest.Manifest, files []manifest.File) error {
	have := make(map[string]manifest.File, len(files))
	for _, f := range files {
		have[f.Name] = f
	}
	for _, want := range m.Files {
		f, ok := have[want.Name]
		if !ok {
			return fmt.Errorf("%s is missing, which the manifest lists: it was loaded already, or lost", want.Name)
		}
		if f.Bytes != want.Bytes || f.Cells != want.Cells {
			return fmt.Errorf("%s has %s and %s, the manifest says %d and %d", want.Name, setting.Count(f.Bytes, "byte"), setting.Count(f.Cells, "cell"), want.Bytes, want.Cells)
		}
		if f.Family != want.Family || !bytes.Equal(f.FirstRow, want.FirstRow) || !bytes.Equal(f.LastRow, want.LastRow) {
			return fmt.Errorf("%s has another family or other rows at its ends than the manifest says", want.Name)
		}
		delete(have, want.Name)
	}
	for name := range have {
		return fmt.Errorf("%s is in no line of the manifest", name)
	}
	return nil
}

func totalBytes(files []manifest.File) (n int64) {
	for _, f := range files {
		n += f.Bytes
	}
	return n
}
