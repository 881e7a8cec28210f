package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// LoadDir loads a directory of HFiles, DIR/family/file, on the cluster's
// HDFS: one that build made, or another program. With a manifest the table is
// verified by it.
func LoadDir(ctx context.Context, env *Env, table, dir, mode string, e Events) (*Result, error) {
	start := time.Now()
	if strings.HasPrefix(dir, "/") {
		dir = "hdfs://" + dir
	}
	l, err := env.Conf.Resolve(dir)
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	if l.Local() {
		return nil, failf(KindConfig, "%s is local: HBase loads from HDFS; copy it there, or let build write there with --out hdfs:///…", dir)
	}
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	st := &staging{out: Output{FS: fsys, Dir: l.Path}, location: l}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	m, err := ReadManifest(ctx, fsys, l.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail(KindInput, err)
	}
	files, err := listHFiles(ctx, fsys, l.Path)
	if err != nil {
		return nil, err
	}
	facts, err := loadFacts(ctx, c, table, files)
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: 1, Table: facts.Name.String(), Staging: l.String(), Manifest: m}
	if m != nil {
		if err := m.sameFiles(files); err != nil {
			return nil, fail(KindInput, fmt.Errorf("%s: %w", dir, err))
		}
	}
	if err := loadFiles(ctx, c, facts.Name, st, files, e, r); err != nil {
		return r, err
	}
	if m != nil && mode == "full" {
		if err := verify(ctx, c, facts, mode, m, e, r); err != nil {
			return r, err
		}
	}
	r.Elapsed = time.Since(start)
	return r, nil
}

// loadFacts checks the table for every family that the files have.
func loadFacts(ctx context.Context, c *loader.Cluster, table string, files []File) (facts *Facts, err error) {
	for i, f := range files {
		if i > 0 && files[i-1].Family == f.Family {
			continue
		}
		if facts, err = tableFacts(ctx, c, table, f.Family); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// listHFiles opens every file of every family. A file that is no HFile, or
// holds cells of another family, is an error: to skip it would lose rows.
func listHFiles(ctx context.Context, fsys hdfsio.FS, dir string) ([]File, error) {
	families, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail(KindInput, err)
	}
	var files []File
	for _, d := range families {
		if strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") {
			if d.Name() == writingDir {
				return nil, failf(KindInput, "%s holds %s: the build was not finished; build again", dir, writingDir)
			}
			continue
		}
		if !d.IsDir() {
			return nil, failf(KindInput, "%s is no directory of a family: HFiles lie in %s/FAMILY/", path.Join(dir, d.Name()), dir)
		}
		list, err := fsys.ReadDir(ctx, path.Join(dir, d.Name()))
		if err != nil {
			return nil, fail(KindInput, err)
		}
		for _, x := range list {
			f, err := describeFile(ctx, fsys, dir, d.Name(), x)
			if err != nil {
				return nil, fail(KindInput, err)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, failf(KindInput, "%s holds no HFiles (they lie in %s/FAMILY/)", dir, dir)
	}
	return files, nil
}

func describeFile(ctx context.Context, fsys hdfsio.FS, dir, family string, info fs.FileInfo) (File, error) {
	name := path.Join(dir, family, info.Name())
	if info.IsDir() {
		return File{}, fmt.Errorf("%s is a directory, where only HFiles should be", name)
	}
	m, err := readMeta(ctx, fsys, name)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	if m.Cells == 0 {
		return File{}, fmt.Errorf("%s has no cells: HBase refuses such a file", name)
	}
	if string(m.family) != family {
		return File{}, fmt.Errorf("%s holds cells of family %q: it lies in the directory of another", name, m.family)
	}
	return File{Name: path.Join(family, info.Name()), Family: family, FirstRow: m.firstRow, LastRow: m.lastRow, Cells: m.Cells, Bytes: m.Bytes}, nil
}

// sameFiles says whether the directory still holds what the manifest lists.
func (m *Manifest) sameFiles(files []File) error {
	have := make(map[string]File, len(files))
	for _, f := range files {
		have[f.Name] = f
	}
	for _, want := range m.Files {
		f, ok := have[want.Name]
		if !ok {
			return fmt.Errorf("%s is missing, which the manifest lists: it was loaded already, or lost", want.Name)
		}
		if f.Bytes != want.Bytes || f.Cells != want.Cells {
			return fmt.Errorf("%s has %d bytes and %d cells, the manifest says %d and %d", want.Name, f.Bytes, f.Cells, want.Bytes, want.Cells)
		}
		delete(have, want.Name)
	}
	for name := range have {
		return fmt.Errorf("%s is in no line of the manifest", name)
	}
	return nil
}
