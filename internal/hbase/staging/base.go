package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// MakeBase creates the directory of all jobs' staging directories. If it exists,
// MakeBase refuses it if another user could replace a job's files in it. Missing
// parents get the modes that Hadoop's documentation recommends: all users may write
// to /tmp, and traverse the others. made reports whether the directory was missing;
// it is also set with an error.
func MakeBase(ctx context.Context, fsys hdfsio.FS, dir, user string) (made bool, err error) {
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
		return fmt.Errorf("%s belongs to %s, not to %s: it is not this job's directory", dir, owner, user)
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
	root, err := env.Conf.Resolve(env.Conf.Value(cluster.RootDirKey))
	if !ok || err != nil || root.Path == "" || root.Authority != base.Authority {
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
