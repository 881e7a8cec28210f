package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
)

// settling is the search for one file whose load had no answer.
type settling struct {
	*load
	file, to HFile
	region   Region
	answered bool
	findings
}

// findings records the results of all looks at a file.
type findings struct {
	stagedSince time.Time // when it was first seen in the staging directory
	goneSince   time.Time // when it was first seen nowhere
	stores      error     // why the stores could not be read, at the last look
	table       error     // why the table gave no evidence, at the last look
	orphan      *orphan   // if it was seen in a directory where readers do not see it
	failed      error     // the error of the last look
}

// undecided returns why the search ended without a result: the limit, the error of the last look, and the places where the file was seen.
func (s *settling) undecided(limit error) error {
	err := fmt.Errorf("%s: %w", s.file.Path, limit)
	for _, more := range []error{s.failed, s.seen()} {
		if more != nil {
			err = fmt.Errorf("%w; %w", err, more)
		}
	}
	return err
}

func (s *settling) seen() error {
	switch {
	case !s.stagedSince.IsZero():
		return errors.New("it is in the staging directory")
	case s.orphan != nil:
		return s.orphan.explain(s)
	case s.goneSince.IsZero():
		return nil
	case s.stores != nil:
		return fmt.Errorf("it is neither at its source nor in the staging directory, the table's stores cannot be looked into (%w), and %w", s.stores, s.table)
	}
	return fmt.Errorf("it is neither at its source nor in the staging directory nor in the table's stores, and %w", s.table)
}

// look looks for the file once. PlaceUnknown means to look again, PlaceGone that looking again will not help.
func (s *settling) look(ctx context.Context) (HFile, Place, error) {
	back := s.to
	if s.answered {
		back = s.file // it is not in use: it may keep its name
	}
	source, to := fsPath(s.file.Path), fsPath(back.Path)
	// The answer to a rename may have been lost, here or in an earlier attempt.
	switch there, err := s.isThere(ctx, to); {
	case err != nil:
		return s.file, PlaceUnknown, err
	case there:
		return back, PlaceSource, nil
	}
	if !s.answered {
		err := s.req.FS.Rename(ctx, source, to)
		if err == nil {
			return back, PlaceSource, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return s.file, PlaceUnknown, err
		}
	}
	// The mode of this load does not show how an earlier attempt has sent this file.
	if s.staged != "" {
		stage := path.Join(fsPath(s.staged), s.file.Family, path.Base(source))
		switch _, err := s.req.FS.Stat(ctx, stage); {
		case err == nil:
			if !s.settled(ctx) {
				return s.file, PlaceUnknown, nil
			}
			if err := s.req.FS.Rename(ctx, stage, to); err != nil {
				return s.file, PlaceUnknown, err
			}
			return back, PlaceSource, nil
		case !errors.Is(err, fs.ErrNotExist):
			return s.file, PlaceUnknown, err
		}
		s.stagedSince = time.Time{}
	}
	near := s.region.Encoded
	if near == "" {
		near = s.regionDir(ctx, s.file)
	}
	e := s.inStore(ctx, s.file, near)
	if e.found {
		return s.file, PlaceStore, nil
	}
	s.orphan, s.stores = e.orphan, e.unknown
	var loaded bool
	if loaded, s.table = s.inTable(ctx, s.file); loaded {
		s.cluster.log.Info("the file was loaded: the table has its cells, it is a compaction that has put it elsewhere, or its store cannot be looked into", "file", s.file.Path)
		return s.file, PlaceStore, nil
	}
	if s.orphan != nil {
		return s.file, PlaceUnknown, s.adopt(ctx, s.orphan, s.file)
	}
	// A server that fails moves a file back from the staging directory to its source, so it may have been in between.
	if s.goneSince.IsZero() {
		s.goneSince = time.Now()
		return s.file, PlaceUnknown, nil
	}
	if (s.req.Repeatable || s.answered && s.stores == nil) && time.Since(s.goneSince) > goneQuiet {
		return s.file, PlaceGone, nil // the server does not use it any more
	}
	return s.file, PlaceUnknown, nil
}

// goneQuiet is how long a file must be missing everywhere before it counts as gone.
const goneQuiet = time.Second

// isThere reports whether the file is at a path, or another file whose ID is unknown. An error means that nothing was seen.
func (s *settling) isThere(ctx context.Context, name string) (bool, error) {
	info, err := s.req.FS.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, ok := hdfsio.FileID(info)
	return !ok || s.file.FileID == 0 || id == s.file.FileID, nil
}

// settled reports whether a file in the staging directory may be moved back: the server has answered, or another server has the region, or the
// file has stayed there for StageQuiet.
func (s *settling) settled(ctx context.Context) bool {
	if s.answered {
		return true
	}
	if s.stagedSince.IsZero() {
		s.stagedSince = time.Now()
	}
	if time.Since(s.stagedSince) >= s.cluster.cfg.StageQuiet {
		return true
	}
	if s.region.Name == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.cluster.cfg.StageQuiet-time.Since(s.stagedSince))
	defer cancel()
	return s.servedElsewhere(ctx, s.region)
}

// evidence is the result of a search in the stores.
type evidence struct {
	found   bool    // the table has it, or had it until a compaction
	unknown error   // why not all stores could be looked into
	orphan  *orphan // in the directory of a region that may not have it in service
}

// errNoRoot and errNoIdentity are reasons why no store can be searched.
var (
	errNoRoot     = errors.New("HBase's directory, hbase.rootdir, is not known")
	errNoIdentity = errors.New("the file's identity on HDFS is not known")
)

// inStore searches the stores of the table, and its archive, where a compaction moves files: first those of the region that should have the
// file.
func (l *load) inStore(ctx context.Context, f HFile, near string) (e evidence) {
	root := fsPath(l.cluster.cfg.RootDir)
	switch {
	case l.cluster.cfg.RootDir == "":
		e.unknown = errNoRoot
		return e
	case f.FileID == 0:
		e.unknown = errNoIdentity
		return e
	}
	tables := []string{
		path.Join(root, "data", l.req.Table.Namespace, l.req.Table.Qualifier),
		path.Join(root, "archive/data", l.req.Table.Namespace, l.req.Table.Qualifier),
	}
	look := func(table, region string) bool {
		name, err := l.nameOf(ctx, path.Join(table, region, f.Family), f.FileID)
		switch {
		case err != nil:
			e.unknown = cmp.Or(e.unknown, err)
		case name == "":
		case table == tables[0]:
			if e.orphan = l.inService(ctx, region, f, name); e.orphan == nil {
				e.found = true
			} else {
				e.orphan.path = path.Join(table, region, f.Family, name)
			}
		default:
			e.found, e.orphan = true, nil
		}
		return e.found
	}
	if near != "" {
		for _, table := range tables {
			if look(table, near) {
				return e
			}
		}
	}
	for _, table := range tables {
		regions, err := l.req.FS.ReadDir(ctx, table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.unknown = cmp.Or(e.unknown, err)
		}
		for _, info := range regions {
			if info.IsDir() && info.Name() != near && !strings.HasPrefix(info.Name(), ".") && look(table, info.Name()) {
				return e
			}
		}
	}
	return e
}

// nameOf returns the name in a directory of the file with an ID, or an empty string.
func (l *load) nameOf(ctx context.Context, dir string, id uint64) (string, error) {
	infos, err := l.req.FS.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, info := range infos {
		if got, ok := hdfsio.FileID(info); ok && got == id {
			return info.Name(), nil
		}
	}
	return "", nil
}

// regionDir returns the directory of the region that should have a file: usually the region that it was sent to.
func (l *load) regionDir(ctx context.Context, f HFile) string {
	regions, err := l.cluster.KnownRegions(ctx, l.req.Table)
	if err != nil {
		return ""
	}
	return regions[find(regions, f.First)].Encoded
}
