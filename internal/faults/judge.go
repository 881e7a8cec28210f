package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/job"
)

// judge holds the table, HDFS and this machine to what is promised. Its error is one of the judge.
func (r *round) judge(ctx context.Context, o *Outcome) error {
	got, err := r.lab.admin(ctx, "digest", r.table)
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if got != r.want {
		o.problem("DIGEST IS WRONG: the table has %s, want %s", got, r.want)
	}
	if err := r.judgeStore(ctx, o); err != nil {
		return fmt.Errorf("store files: %w", err)
	}
	if err := r.judgeLeft(ctx, o); err != nil {
		return err
	}
	if !r.job.Compact {
		return nil
	}
	if _, err := r.lab.admin(ctx, "major-compact", r.table); err != nil {
		return err
	}
	if got, err = r.lab.admin(ctx, "digest", r.table); err != nil {
		return fmt.Errorf("digest after compaction: %w", err)
	}
	if got != r.want {
		o.problem("DIGEST IS WRONG after a major compaction: the table has %s, want %s", got, r.want)
	}
	return nil
}

// judgeStore counts the cells of the table's store files.
func (r *round) judgeStore(ctx context.Context, o *Outcome) error {
	if r.job.Compact {
		return nil
	}
	files, err := r.lab.storeFiles(ctx, r.table)
	if err != nil {
		return err
	}
	var have int64
	for _, f := range files {
		have += f.cells
	}
	if want := countCells(r.loaded) + r.before; have != want && len(o.Problems) == 0 {
		o.problem("CELLS ARE IN FILES TWICE: the store files hold %d cells, want %d: %v", have, want, files)
	} else if have != want {
		o.problem("the store files hold %d cells, want %d", have, want)
	}
	return nil
}

// judgeLeft looks for what should be gone.
func (r *round) judgeLeft(ctx context.Context, o *Outcome) error {
	fsys, p, err := r.lab.env.Resolve("hdfs://" + r.stage)
	if err != nil {
		return err
	}
	left, err := filesBelow(ctx, fsys, p)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		o.problem("left in the job's staging directory: %v", left)
	}
	dirs, err := fsys.ReadDir(ctx, "/hbase/staging")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range dirs {
		if !strings.Contains(d.Name(), strings.ReplaceAll(r.table, ":", "_")) {
			continue
		}
		left, err := filesBelow(ctx, fsys, path.Join("/hbase/staging", d.Name()))
		if err != nil {
			return err
		}
		if len(left) > 0 {
			o.problem("left in HBase's staging directory: %v", left)
		}
	}
	return r.judgeLocal(o)
}

// judgeLocal looks for sorted runs that nobody will read again.
func (r *round) judgeLocal(o *Outcome) error {
	spilled, err := os.ReadDir(r.spill)
	if err != nil {
		return err
	}
	if len(spilled) > 0 {
		o.problem("%d files are left in the spill directory", len(spilled))
	}
	// A finished job keeps its journal and lock, and no data.
	const most = 4 << 20
	var size int64
	err = filepath.WalkDir(r.state, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if size > most {
		o.problem("the state of the finished job has %d bytes", size)
	}
	return err
}

// filesBelow lists the files below a directory, none when there is no such directory.
func filesBelow(ctx context.Context, fsys hdfsio.FS, dir string) ([]string, error) {
	infos, err := fsys.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, info := range infos {
		name := path.Join(dir, info.Name())
		if !info.IsDir() {
			all = append(all, name)
			continue
		}
		more, err := filesBelow(ctx, fsys, name)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// region is a region of a table as the Java client sees it; its keys are as HBase's shell prints them.
type region struct{ name, start, end, server string }

func (l *Lab) regions(ctx context.Context, table string) ([]region, error) {
	out, err := l.admin(ctx, "regions", table)
	if err != nil {
		return nil, err
	}
	var all []region
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("line of regions %q", line)
		}
		all = append(all, region{f[0], f[1], f[2], f[3]})
	}
	return all, nil
}

// storeFile is a file that a table's regions read from.
type storeFile struct {
	path  string
	cells int64
}

// storeFiles are the files of the table's regions, each once. A region that came of a split or a merge
// has references, "file.region", to files of its parents. Half a file and the other half are two
// references to one file, which counts once with all its cells. A file all of whose rows are on one side
// of a split is there by a link, "namespace=table=region-file" (HFileLink, 2.6).
func (l *Lab) storeFiles(ctx context.Context, table string) ([]storeFile, error) {
	regions, err := l.regions(ctx, table)
	if err != nil {
		return nil, err
	}
	fsys, base, err := l.env.Resolve("hdfs:///hbase/data/" + strings.ReplaceAll(table, ":", "/"))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var all []storeFile
	for _, r := range regions {
		infos, err := fsys.ReadDir(ctx, path.Join(base, r.name, family))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, info := range infos {
			if info.IsDir() || strings.HasPrefix(info.Name(), ".") {
				continue // .filelist, what the tracker FILE keeps
			}
			name := path.Join(base, r.name, family, info.Name())
			if file, parent, ok := strings.Cut(info.Name(), "."); ok {
				name = path.Join(base, parent, family, file)
			} else if _, link, ok := cutLast(info.Name(), "="); ok {
				parent, file, _ := strings.Cut(link, "-")
				name = path.Join(base, parent, family, file)
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			cells, err := cellsOf(ctx, fsys, name)
			if errors.Is(err, fs.ErrNotExist) { // a parent is archived when nobody but a link needs it
				cells, err = cellsOf(ctx, fsys, strings.Replace(name, "/hbase/data/", "/hbase/archive/data/", 1))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, storeFile{name, cells})
		}
	}
	return all, nil
}

// cutLast cuts at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func cellsOf(ctx context.Context, fsys hdfsio.FS, name string) (int64, error) {
	r, f, err := job.OpenHFile(ctx, fsys, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	m, err := job.DescribeHFile(name, r)
	return int64(m.Cells), err
}
