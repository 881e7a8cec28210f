package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
)

// judge checks the table, HDFS and this machine. Its error is about the check itself.
func (r *round) judge(ctx context.Context, o *Outcome) error {
	c, err := r.judgeRows(ctx, o)
	if err != nil || c == nil {
		return err
	}
	if err := r.judgeStore(ctx, *c, o); err != nil {
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
	got, err := r.lab.admin(ctx, "digest", r.table)
	if err != nil {
		return fmt.Errorf("digest after compaction: %w", err)
	}
	if got != c.digest {
		o.silent("DIGEST IS WRONG after a major compaction: the table has %s, want %s", got, c.digest)
	}
	return nil
}

// judgeRows returns the content of the table, or nil if it cannot be read because a file was damaged.
func (r *round) judgeRows(ctx context.Context, o *Outcome) (*content, error) {
	got, err := r.digest(ctx)
	if err != nil && r.fault.Kind == BitFlip {
		o.silent("UNREADABLE: %v", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	i := slices.IndexFunc(r.contents, func(c content) bool { return c.digest == got })
	if i < 0 {
		var want []string
		for _, c := range r.contents {
			want = append(want, c.digest+" of "+c.what)
		}
		o.silent("DIGEST IS WRONG: the table has %s, want %s", got, strings.Join(want, " or "))
		return &r.contents[0], nil
	}
	c := &r.contents[i]
	if len(o.Exits) > 0 && o.Exits[len(o.Exits)-1] == 0 {
		r.judgeReport(o, *c)
	}
	if r.fault.Kind == BitFlip {
		r.judgeGets(ctx, *c, o)
		return c, nil
	}
	return c, nil
}

// digest scans the table. With a damaged file it does not retry for long.
func (r *round) digest(ctx context.Context) (string, error) {
	if r.fault.Kind != BitFlip {
		return r.lab.admin(ctx, "digest", r.table)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	a, err := r.lab.cluster.Admin(ctx)
	if err != nil {
		return "", err
	}
	return a.Run(ctx, "digest", r.table)
}

// judgeGets reads some rows by Get, which uses the bloom filter, as opposed to a scan.
func (r *round) judgeGets(ctx context.Context, c content, o *Outcome) {
	const gets = 50
	for i := range gets {
		want := c.rows[len(c.rows)*i/gets]
		out, err := r.lab.admin(ctx, "get", r.table, want.key)
		if err != nil {
			o.silent("UNREADABLE by a get: %v", err)
			return
		}
		if n := len(strings.Split(out, "\n")); out == "" || n < len(want.cells) {
			o.silent("a get finds %d cells of a row that a scan finds %d of", btoi(out != "")*int64(n), len(want.cells))
		}
	}
}

// judgeStore counts the cells of the table's store files.
func (r *round) judgeStore(ctx context.Context, c content, o *Outcome) error {
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
	if have != c.cells && len(o.Problems) == 0 {
		o.silent("CELLS ARE IN FILES TWICE: the store files hold %d cells, want %d: %v", have, c.cells, files)
	} else if have != c.cells {
		o.problem("the store files hold %d cells, want %d", have, c.cells)
	}
	return nil
}

// judgeLeft checks for files that should have been removed.
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

// judgeLocal checks for sorted runs that will not be read again.
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

// filesBelow lists the files below a directory, or none if the directory does not exist.
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

// region is a region of a table from the Java client; its keys are in the notation of HBase's shell.
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
	region string // the first region that reads it
	path   string
	cells  int64
}

// storeFiles returns the files of the table's regions, each once. A region that was created by a split or a merge has
// references, "file.region", to files of its parents. The references to the two halves of a file are one file, which
// counts once with all its cells. If all rows of a file are on one side of a split, there is a link to it,
// "namespace=table=region-file" (HFileLink, 2.6).
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
				continue // .filelist, of the tracker FILE
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
			if errors.Is(err, fs.ErrNotExist) { // a parent is archived when only a link needs it
				cells, err = cellsOf(ctx, fsys, strings.Replace(name, "/hbase/data/", "/hbase/archive/data/", 1))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, storeFile{r.name, name, cells})
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
	r, f, err := filecheck.OpenHFile(ctx, fsys, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	m, err := filecheck.DescribeHFile(name, r)
	return int64(m.Cells), err
}
