// Package staging has the directories on HDFS from which HBase takes a job's
// HFiles: what they are called, their owner, how they are made and
// removed. Region servers move files out of them as the user that loads.
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

// ProbePrefix begins the names of files that a check creates and removes in a base.
const ProbePrefix = "_check-"

// name is the form of a job's directory: its table, its timestamp and sixteen
// random digits.
var name = regexp.MustCompile(`^[A-Za-z0-9_.-]+-[0-9]{1,19}-[0-9a-f]{16}$`)

// probe matches the names of files that a killed check leaves behind.
var probe = regexp.MustCompile(`^` + regexp.QuoteMeta(ProbePrefix) + `[0-9a-f]{16}$`)

// IsName reports whether a directory has the name of a job's.
func IsName(base string) bool { return name.MatchString(base) }

// IsProbe reports whether a directory is one that a check has left behind.
func IsProbe(base string) bool { return probe.MatchString(base) }

// NewProbe names a directory for a check: no other has the name.
func NewProbe() string { return ProbePrefix + randomDigits() }

// randomDigits are sixteen hexadecimal digits that cannot be guessed.
func randomDigits() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// ProbeOf names the directory for the checks of a job, which is the same in each of its attempts: it ends with the random
// digits of the job's own directory, whose path is job.
func ProbeOf(job string) string { return ProbePrefix + job[max(0, len(job)-16):] }

// Dir is a job's own directory.
type Dir struct {
	FS       hdfsio.FS
	Location hdfsio.Location

	newBase bool // the directory above was made with it
}

// Base returns the directory of all jobs' staging directories: dir on the default file
// system unless it names another. If it is empty, bulkload-USER in /tmp, or in the encryption zone of HBase's root directory,
// since HDFS renames no file into a zone.
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

// UserBase returns the default name of the directory of a user's staging directories.
func UserBase(user string) string { return "bulkload-" + user }

// Choose names a new directory for a job in a base. Its name cannot be
// guessed, since others may write into it. A base in another encryption zone than HBase's root directory is refused: no byte of a
// table may be outside of its zone, also for a moment.
func Choose(ctx context.Context, env *cluster.Env, dir, table string, timestamp int64) (hdfsio.Location, error) {
	l, err := Base(ctx, env, dir)
	if err != nil {
		return hdfsio.Location{}, err
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

// At returns the directory of a job, by the URI that its journal has. It may not be there.
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

// Make makes the directory, or finds it. Region servers move files out of
// it as the caller, so every directory lets the others pass, and the one of
// the files lets them write.
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
	d.newBase, err = MakeBase(ctx, fsys, path.Dir(l.Path), user)
	if err == nil {
		err = fsys.MkdirAll(ctx, l.Path, 0o711)
	}
	if err == nil {
		err = checkOwner(ctx, fsys, l.Path, user)
	}
	if err != nil {
		d.takeBackBase(ctx)
		return nil, fail.With(fail.HDFS, setting.Errorf("staging directory: %w (name one that you may write with %s)", err, setting.Staging))
	}
	if err := fsys.Chmod(ctx, l.Path, 0o711); err != nil {
		d.takeBackBase(ctx)
		return nil, fail.With(fail.HDFS, err)
	}
	return d, nil
}

// TakeBack is Remove, and removes the directory above too if [Make] has made it, or the job's preflight (newBase), and no other
// job uses it.
func (d *Dir) TakeBack(ctx context.Context, newBase bool) error {
	err := d.Remove(ctx)
	if d.newBase = d.newBase || newBase; err == nil {
		d.takeBackBase(ctx)
	}
	return err
}

// takeBackBase removes the directory above if it was missing, and what was made in
// it, unless another job uses it.
func (d *Dir) takeBackBase(ctx context.Context) {
	if !d.newBase {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_ = d.FS.RemoveAll(ctx, d.Location.Path) // it was not there before
	_ = d.FS.Remove(ctx, path.Dir(d.Location.Path))
}

// Remove deletes the directory with all that is in it, also when the job was
// cancelled. One that is not there is no error.
func (d *Dir) Remove(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	err := d.FS.RemoveAll(ctx, d.Location.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
