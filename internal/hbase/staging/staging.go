// Package staging manages the directories on HDFS from which HBase loads a
// job's HFiles: their names, owners, creation and removal. Region servers move
// files out of these directories on behalf of the user that loads them.
package staging

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// JournalName is the copy of a job's journal in its directory.
const JournalName = "_journal.jsonl"

// ProbePrefix is the prefix of files and directories that a check creates and removes in a base directory.
const ProbePrefix = "_check-"

// name matches the name of a job's directory: its table, its timestamp and
// sixteen random digits.
var name = regexp.MustCompile(`^[A-Za-z0-9_.-]+-[0-9]{1,19}-[0-9a-f]{16}$`)

// probe matches the names of directories that a killed check leaves behind.
var probe = regexp.MustCompile(`^` + regexp.QuoteMeta(ProbePrefix) + `[0-9a-f]{16}$`)

// IsName reports whether base is the name of a job's directory.
func IsName(base string) bool { return name.MatchString(base) }

// IsProbe reports whether base is the name of a directory that a check has left behind.
func IsProbe(base string) bool { return probe.MatchString(base) }

// NewProbe returns a unique name for a check's directory.
func NewProbe() string { return ProbePrefix + randomDigits() }

// randomDigits returns sixteen hexadecimal digits that cannot be guessed.
func randomDigits() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// ProbeOf returns the name of the directory for the checks of the job whose own directory has the path job. The name is the
// same in each of the job's attempts, because it ends with the random digits of that path.
func ProbeOf(job string) string { return ProbePrefix + job[max(0, len(job)-16):] }

// Dir is a job's own directory.
type Dir struct {
	FS       hdfsio.FS
	Location hdfsio.Location

	newBase bool // the parent directory was created with it
}

// Base returns the base directory of job directories: dir, on the default file system unless dir names another. If dir is
// empty, it is bulkload-USER in /tmp. If HBase's root directory is in an encryption zone, it is in that zone instead, because HDFS
// cannot rename a file into a zone.
func Base(ctx context.Context, env *cluster.Env, dir string) (hdfsio.Location, error) {
	if dir == "" {
		user, err := env.User()
		if err != nil {
			return hdfsio.Location{}, err
		}
		zone, err := env.RootZone(ctx)
		if err != nil {
			return hdfsio.Location{}, err
		}
		dir = "hdfs://" + path.Join(cmp.Or(zone, "/tmp"), UserBase(user))
	} else if strings.HasPrefix(dir, "/") {
		dir = "hdfs://" + dir
	}
	l, err := env.Conf.Resolve(dir)
	if err == nil && l.Local() {
		err = fmt.Errorf("staging directory %s is local, but HBase loads from HDFS", dir)
	}
	return l, fail.With(fail.Config, err)
}

// UserBase returns the name of the default base directory of a user's jobs.
func UserBase(user string) string { return "bulkload-" + user }

// Choose returns a new directory for a job in a base directory. Its name cannot be guessed, because other users may write into it.
// Choose refuses a base in another encryption zone than HBase's root directory: no byte of a table may leave its zone, even temporarily. It refuses
// a NameNode's address if HBase has the nameservice.
func Choose(ctx context.Context, env *cluster.Env, dir, table string, timestamp int64) (hdfsio.Location, error) {
	l, err := Base(ctx, env, dir)
	if err != nil {
		return hdfsio.Location{}, err
	}
	if root, err := env.Conf.Resolve(cluster.Root(env.Conf)); err == nil && !root.Local() && cluster.ByServer(ctx, l, root) {
		return hdfsio.Location{}, fail.With(fail.Check, setting.Errorf("the staging directory is on %s: HBase is on %s, and refuses files by another address: give %s hdfs://%s%s",
			l.Authority, root.Authority, setting.Staging, root.Authority, l.Path))
	}
	if dir != "" {
		if err := checkZone(ctx, env, l); err != nil {
			return hdfsio.Location{}, err
		}
	}
	name, err := loader.ParseTableName(table)
	if err != nil {
		return hdfsio.Location{}, fail.With(fail.Config, err)
	}
	return l.Join(fmt.Sprintf("%s-%d-%s", name.FileName(), timestamp, randomDigits())), nil
}

// At returns the directory of a job, by the URI in its journal. The directory need not exist.
func At(env *cluster.Env, uri string) (*Dir, error) {
	l, err := env.Conf.Resolve(uri)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	return &Dir{FS: fsys, Location: l}, nil
}

// Make creates the directory if it does not exist. Region servers move files out of
// it, so all users can traverse it, and all users can write to the directory of the
// files.
func Make(ctx context.Context, env *cluster.Env, l hdfsio.Location) (*Dir, error) {
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	user, err := env.User()
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	d := &Dir{FS: fsys, Location: l}
	if err := d.create(ctx, user); err != nil {
		d.takeBackBase(ctx)
		kind := fail.HDFS
		if _, ok := errors.AsType[*UnfitError](err); ok {
			kind = fail.Check
		}
		return nil, fail.With(kind, setting.Errorf("staging directory: %w (name one that you may write with %s)", err, setting.Staging))
	}
	if err := fsys.Chmod(ctx, l.Path, 0o711); err != nil {
		d.takeBackBase(ctx)
		return nil, fail.With(fail.HDFS, err)
	}
	return d, nil
}

// create creates the directory and its parent directory.
func (d *Dir) create(ctx context.Context, user string) error {
	return again(func() error {
		made, err := makeBase(ctx, d.FS, path.Dir(d.Location.Path), user)
		d.newBase = d.newBase || made
		if err == nil {
			err = d.FS.MkdirAll(ctx, d.Location.Path, 0o711)
		}
		if err == nil {
			err = checkOwner(ctx, d.FS, d.Location.Path, user)
		}
		return err
	})
}

// again repeats an action that creates a base directory while it finds a directory missing. A check of another job, or of this one, removes the base
// that it has created, if the base is empty at that moment.
func again(act func() error) (err error) {
	for range 10 {
		if err = act(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// TakeBack removes the directory like Remove. It also removes the parent directory if [Make] or the job's preflight (newBase)
// created it and no other job uses it.
func (d *Dir) TakeBack(ctx context.Context, newBase bool) error {
	err := d.Remove(ctx)
	if d.newBase = d.newBase || newBase; err == nil {
		d.takeBackBase(ctx)
	}
	return err
}

// takeBackBase removes the parent directory with the job's directory, if the
// parent was created and no other job uses it.
func (d *Dir) takeBackBase(ctx context.Context) {
	if !d.newBase {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_ = d.FS.RemoveAll(ctx, d.Location.Path) // the job has created it
	_ = d.FS.Remove(ctx, path.Dir(d.Location.Path))
}

// Remove deletes the directory with all its contents, also after the job was
// cancelled. It is not an error if the directory does not exist.
func (d *Dir) Remove(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return d.FS.RemoveAll(ctx, d.Location.Path)
}

// MakeBase creates the directory of all jobs' staging directories. If it exists,
// MakeBase refuses it if another user could replace a job's files in it. Missing
// parents get the modes that Hadoop's documentation recommends: all users may write
// to /tmp, and traverse the others. made reports whether the directory was missing;
// it is also set with an error.
func MakeBase(ctx context.Context, fsys hdfsio.FS, dir, user string) (made bool, err error) {
	err = again(func() error {
		missing, err := makeBase(ctx, fsys, dir, user)
		made = made || missing
		return err
	})
	return made, err
}

func makeBase(ctx context.Context, fsys hdfsio.FS, dir, user string) (made bool, err error) {
	info, err := fsys.Stat(ctx, dir)
	if made = errors.Is(err, fs.ErrNotExist); made {
		if err := makeParents(ctx, fsys, path.Dir(dir)); err != nil {
			return made, err
		}
		if err := fsys.MkdirAll(ctx, dir, 0o711); err != nil {
			return made, err
		}
		info, err = fsys.Stat(ctx, dir) // another process may have made it meanwhile
	}
	if err != nil {
		return made, err
	}
	if err := checkBase(info, dir, user); err != nil {
		return made, &UnfitError{err}
	}
	return made, nil
}

// An UnfitError refuses an existing directory in which other users could replace a job's files.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }

// checkBase refuses a directory in which another user could replace a job's files.
func checkBase(info fs.FileInfo, dir, user string) error {
	owner, _ := hdfsio.Owner(info)
	mode := info.Mode()
	sticky := mode&fs.ModeSticky != 0
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case owner == "":
		return nil // the file system has no owners
	case owner != user && path.Base(dir) == UserBase(user):
		return fmt.Errorf("%s belongs to %s, not to %s: its owner could replace the files of a load (ask for its removal)", dir, owner, user)
	case owner != user && !sticky:
		return fmt.Errorf("%s belongs to %s, not to %s, and has no sticky bit, so others could replace the files of a load (its owner can set mode 1777; or name your own)", dir, owner, user)
	case mode&0o002 != 0 && !sticky:
		return fmt.Errorf("%s has mode %04o: all users may replace the files of a load there (chmod 711 it)", dir, mode.Perm())
	}
	return nil
}

// makeParents creates the missing parents of a directory, and the
// directory.
func makeParents(ctx context.Context, fsys hdfsio.FS, dir string) error {
	if dir == "/" {
		return nil
	}
	if _, err := fsys.Stat(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeParents(ctx, fsys, path.Dir(dir)); err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if dir == "/tmp" {
		mode = 0o777 | fs.ModeSticky
	}
	if err := fsys.MkdirAll(ctx, dir, mode); err != nil {
		return err
	}
	return fsys.Chmod(ctx, dir, mode) // mkdir may leave bits out, as below a directory with a default ACL
}

// checkOwner refuses a job's directory that belongs to another user.
func checkOwner(ctx context.Context, fsys hdfsio.FS, dir, user string) error {
	info, err := fsys.Stat(ctx, dir)
	if err != nil {
		return err
	}
	if owner, _ := hdfsio.Owner(info); owner != "" && owner != user {
		return &UnfitError{fmt.Errorf("%s belongs to %s, not to %s: it is not this job's directory", dir, owner, user)}
	}
	return nil
}

// ZoneError reports that the staging directory and HBase's root directory are not in the same encryption zone, or that only one of them is in
// a zone: HDFS cannot move files between zones, nor into or out of one.
type ZoneError struct {
	Root     string // HBase's directory
	RootZone string // its zone; empty: none
	Zone     string // of the staging directory; empty: none
}

func (e *ZoneError) Error() string {
	if e.RootZone == "" {
		return fmt.Sprintf("the staging directory is in the encryption zone %s, from which files cannot move into HBase's directory", e.Zone)
	}
	return fmt.Sprintf("HBase's directory %s is in the encryption zone %s and the staging directory is not: HDFS cannot move files into it", e.Root, e.RootZone)
}

// checkZone refuses a base that is not in the zone of HBase's root directory, if that directory is known.
func checkZone(ctx context.Context, env *cluster.Env, base hdfsio.Location) error {
	fsys, err := env.FS(base)
	if err != nil {
		return err
	}
	h, ok := fsys.(*hdfsio.HDFS)
	root, err := env.Conf.Resolve(cluster.Root(env.Conf))
	if !ok || err != nil || root.Path == "" || !cluster.SameAddress(root, base) {
		return nil
	}
	to, err := h.Zone(ctx, root.Path)
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	from, err := h.Zone(ctx, base.Path)
	if err != nil || from.Root == to.Root {
		return fail.With(fail.HDFS, err)
	}
	return fail.With(fail.Check, setting.Errorf("%w: leave %s out, or name a directory in the same zone", &ZoneError{root.Path, to.Root, from.Root}, setting.Staging))
}
