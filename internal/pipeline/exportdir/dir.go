// Package exportdir manages the directory that an export writes to. A job claims a directory that is missing or empty. It puts a token of its
// own into it, by which later attempts, and the removal of the job, recognize the directory. Files are written below [Writing], and renamed when
// they are complete.
package exportdir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

const (
	// Writing is the directory for incomplete files, below the export's directory.
	Writing = "_writing"
	// ManifestName is the manifest's name in the directory. Hadoop, Hive, Spark and bulkload ignore names that begin with an underscore.
	ManifestName = "_manifest.json"
	// PartPrefix is the prefix of the names of regions' files.
	PartPrefix = "part-"

	claimName = "claim" // a file below Writing, which only one job can create
	taken     = "another export writes to it or was killed: give its command again, or remove the directory"
)

// ErrNotEmpty is wrapped by errors about a directory that is not empty.
var ErrNotEmpty = errors.New("the directory is not empty")

// Dir is a directory that belongs to one job, from [Claim] until Finish or Remove has ended.
type Dir struct {
	FS   hdfsio.FS
	Path string

	made bool // the directory was created for the job
}

// NewFile returns the options of the export's files: they have rows, so others may read them only as far as the umask lets them.
func (d *Dir) NewFile() hdfsio.CreateOptions {
	return hdfsio.CreateOptions{Perm: hdfsio.Masked(d.FS, 0o666)}
}

// claim identifies the job that writes an export.
type claim struct {
	Token string `json:"token"`
	Made  bool   `json:"made"` // the job created the directory, which was missing
}

// Claim claims a directory, which is missing or empty, for the job that token identifies. If the job has already claimed the directory, Claim
// leaves it unchanged and returns it with again set.
func Claim(ctx context.Context, fsys hdfsio.FS, dir, token string) (d *Dir, again bool, err error) {
	d = &Dir{FS: fsys, Path: dir}
	again, err = d.claimOrResume(ctx, token)
	return d, again, fail.Listing(err)
}

func (d *Dir) claimOrResume(ctx context.Context, token string) (again bool, err error) {
	switch c, err := d.read(ctx); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case c.Token == token:
		d.made = c.Made
		return true, nil
	default:
		return false, d.refused(taken)
	}
	infos, err := d.FS.ReadDir(ctx, d.Path)
	if d.made = errors.Is(err, fs.ErrNotExist); err != nil && !d.made {
		return false, err
	}
	if err := d.empty(infos); err != nil {
		return false, err
	}
	return false, d.claim(ctx, claim{token, d.made})
}

// empty returns an error for a directory that contains anything other than the directory of incomplete files, before the job puts its token there.
func (d *Dir) empty(infos []fs.FileInfo) error {
	others := slices.DeleteFunc(slices.Clone(infos), func(i fs.FileInfo) bool { return i.Name() == Writing })
	switch {
	case slices.ContainsFunc(others, func(i fs.FileInfo) bool { return i.Name() == ManifestName }):
		return d.refused("it has a complete export: name another directory, or remove it")
	case len(others) > 0:
		return d.refused("name an empty directory, or one that does not exist")
	}
	return nil
}

// read returns the claim of the directory's job, or fs.ErrNotExist if there is none.
func (d *Dir) read(ctx context.Context) (c claim, err error) {
	b, err := hdfsio.ReadFile(ctx, d.FS, path.Join(d.Path, Writing, claimName), math.MaxInt64)
	if err == nil && json.Unmarshal(b, &c) != nil {
		c = claim{} // no job has an empty token
	}
	return c, err
}

// claim writes the token under a temporary name and renames it, so that others see only a complete file. The rename does not replace an
// existing file.
func (d *Dir) claim(ctx context.Context, c claim) (err error) {
	below := path.Join(d.Path, Writing)
	if err := d.FS.MkdirAll(ctx, below, hdfsio.Masked(d.FS, 0o777)); err != nil {
		return err
	}
	name := path.Join(below, claimName+"."+c.Token)
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		_ = d.FS.Remove(ctx, name)
		// Directories that contain the files of others stay.
		if d.FS.Remove(ctx, below) == nil && c.Made {
			_ = d.FS.Remove(ctx, d.Path)
		}
	}()
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_ = d.FS.Remove(ctx, name) // from an attempt that was killed
	if err := hdfsio.WriteFile(ctx, d.FS, name, bytes.NewReader(b), d.NewFile()); err != nil {
		return err
	}
	if err = d.FS.Rename(ctx, name, path.Join(below, claimName)); errors.Is(err, fs.ErrExist) {
		return d.refused("another export writes to it")
	}
	if err != nil {
		return err
	}
	infos, err := d.FS.ReadDir(ctx, d.Path)
	if err == nil && d.empty(infos) != nil {
		err = d.refused("another program has just written to it")
	}
	if err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		err = errors.Join(err, d.FS.Remove(ctx, path.Join(below, claimName)))
	}
	return err
}

func (d *Dir) refused(why string) error {
	return fail.Errorf(fail.Config, "%s: %w: %s", d.Path, ErrNotEmpty, why)
}

// Retain removes the files of regions, except files that keep names with their sizes, the files being written, and the manifest. It returns
// the names of the files that exist.
func (d *Dir) Retain(ctx context.Context, keep map[string]int64) (map[string]bool, error) {
	there := map[string]bool{}
	for _, dir := range []string{d.Path, path.Join(d.Path, Writing)} {
		infos, err := d.FS.ReadDir(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, i := range infos {
			if i.IsDir() || !strings.HasPrefix(i.Name(), PartPrefix) && i.Name() != ManifestName {
				continue
			}
			if size, ok := keep[i.Name()]; ok && dir == d.Path && size == i.Size() {
				there[i.Name()] = true
			} else if err := d.FS.Remove(ctx, path.Join(dir, i.Name())); err != nil {
				return nil, err
			}
		}
	}
	return there, nil
}

// Finish removes the directory of incomplete files when all files are complete.
func (d *Dir) Finish(ctx context.Context) error {
	return fail.With(fail.HDFS, d.FS.RemoveAll(ctx, path.Join(d.Path, Writing)))
}

// Remove removes all files of the export, also after ctx has ended, and the directory if the job created it.
func (d *Dir) Remove(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_, err := d.Retain(ctx, nil)
	if err == nil {
		err = d.Finish(ctx) // the token last
	}
	if err == nil && d.made {
		err = d.FS.Remove(ctx, d.Path)
	}
	if err != nil {
		return setting.Errorf("failed to remove the files in %s: %w; remove them by hand", d.Path, err)
	}
	return nil
}

// Held returns the directory if it has the token of the job, else nil.
func Held(ctx context.Context, fsys hdfsio.FS, dir, token string) (*Dir, error) {
	d := &Dir{FS: fsys, Path: dir}
	c, err := d.read(ctx)
	if errors.Is(err, fs.ErrNotExist) || err == nil && c.Token != token {
		return nil, nil
	}
	d.made = c.Made
	return d, err
}

// Fits returns an error for a directory that no job can claim, or claim again: it has files, but no directory of incomplete files.
func Fits(ctx context.Context, fsys hdfsio.FS, dir string) error {
	d := &Dir{FS: fsys, Path: dir}
	infos, err := fsys.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return i.Name() == Writing }) {
		return nil
	}
	if err == nil {
		err = d.empty(infos)
	}
	return fail.Listing(err)
}

// Free returns an error for a directory that exists and is not empty.
func Free(ctx context.Context, fsys hdfsio.FS, dir string) error {
	d := &Dir{FS: fsys, Path: dir}
	infos, err := fsys.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(infos) == 0 {
		return nil
	}
	if err == nil {
		err = cmp.Or(d.empty(infos), d.refused(taken))
	}
	return fail.Listing(err)
}
