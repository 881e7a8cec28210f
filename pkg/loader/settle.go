package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
)

// After a lost answer the server may have done its work, may be at it, or may yet begin. Renames on HDFS are atomic, so
// whoever moves a file first owns it: a file that this side can give another name was not taken by the server, and a
// request that still waits there will not find it. So nobody has to wait until the server cannot be working any more.

// resolve finds out about the files of which an earlier attempt had no answer, and gives all that are not loaded.
func (l *load) resolve(ctx context.Context) ([]HFile, error) {
	unknown := map[string]bool{}
	for _, f := range l.req.Unknown {
		unknown[f.Path] = true
	}
	ctx, cancel := l.settling(ctx)
	defer cancel()
	var files []HFile
	for _, f := range l.files {
		if !unknown[f.Path] {
			files = append(files, f)
			continue
		}
		f, place, err := l.settle(ctx, f, Region{}, false)
		if err != nil {
			return nil, &UnknownOutcomeError{Table: l.req.Table, Token: l.token, Files: []HFile{f}, Err: err}
		}
		if place == PlaceStore {
			l.report.Resolved++
			l.stored([]HFile{f})
			continue
		}
		files = append(files, f)
	}
	return files, nil
}

// settling bounds the search. A stopped load gets the grace that calls in flight get.
func (l *load) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := l.c.cfg.SettleTimeout
	if ctx.Err() != nil {
		limit = l.c.cfg.LoadGrace
	}
	return context.WithTimeoutCause(context.WithoutCancel(ctx), limit, fmt.Errorf("not found out within %s", limit))
}

// settleGroup finds out what became of a region's files. After an exception the server is done with them; after a lost
// answer it may not be.
func (l *load) settleGroup(ctx context.Context, g group, cause error, took time.Duration, answered bool) (group, error) {
	unknown := &UnknownOutcomeError{Table: l.req.Table, Region: g.region, Token: l.token, Files: g.files, Err: cause}
	l.c.log.Warn("answer lost, finding out what became of the files", "region", g.region.Encoded, "server", g.region.Server, "err", cause)
	if err := tell(l, l.req.Events.OnUnknown, unknown); err != nil {
		return g, errors.Join(unknown, err)
	}
	ctx, cancel := l.settling(ctx)
	defer cancel()
	var done, rest []HFile
	for _, f := range g.files {
		f, place, err := l.settle(ctx, f, g.region, answered)
		if err != nil {
			return g, errors.Join(unknown, err)
		}
		if place == PlaceStore {
			done = append(done, f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(done) > 0 {
		if err := l.loaded(g, done, took); err != nil || len(rest) == 0 {
			return g, err
		}
	}
	g.files = rest
	g, err := l.returned(g, cause, took)
	// An exception that comes again and again is not mended by sending. A lost answer may be.
	if answered && g.same >= 2 {
		return g, &RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Err: cause}
	}
	return g, err
}

// settlePause is between two looks.
const settlePause = 100 * time.Millisecond

// settle finds out whether a file was loaded. If it was not, it may have a new path. The region, if it is known, is the one
// that the file was sent to.
func (l *load) settle(ctx context.Context, f HFile, r Region, answered bool) (HFile, Place, error) {
	fenced := f
	fenced.Path = fencedPath(f.Path)
	s := &settling{load: l, file: f, to: fenced, region: r, answered: answered}
	if !answered {
		if on := l.req.Events.OnFencing; on != nil {
			l.mu.Lock()
			err := on(f, fenced.Path)
			l.mu.Unlock()
			if err != nil {
				return f, PlaceUnknown, err
			}
		}
	}
	for {
		got, place, err := s.look(ctx)
		if place == PlaceSource || place == PlaceStore {
			return got, place, l.settled(f, got, place)
		}
		if sleep(ctx, settlePause) != nil {
			return f, PlaceUnknown, fmt.Errorf("%s: %w", f.Path, errors.Join(context.Cause(ctx), err, s.seen()))
		}
	}
}

// settled tells what was found out.
func (l *load) settled(was, f HFile, place Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was.Path != f.Path {
		delete(l.place, was.Path)
		if on := l.req.Events.OnFenced; on != nil {
			if err := on(f); err != nil {
				return err
			}
		}
	}
	l.place[f.Path] = place
	l.c.log.Info("found out", "file", f.Path, "place", place.String())
	if on := l.req.Events.OnResolved; on != nil {
		return on(f, place)
	}
	return nil
}

// settling is the search for one file.
type settling struct {
	*load
	file, to HFile
	region   Region
	answered bool

	stagedSince time.Time // when it was first seen in the staging directory
	goneSince   time.Time // when it was first seen nowhere
}

func (s *settling) seen() error {
	switch {
	case !s.stagedSince.IsZero():
		return errors.New("it lies in the staging directory")
	case !s.goneSince.IsZero():
		return errors.New("it is neither at its source nor in the staging directory nor in the table's stores")
	}
	return nil
}

// look looks once. PlaceUnknown means to look again.
func (s *settling) look(ctx context.Context) (HFile, Place, error) {
	source, to := fsPath(s.file.Path), fsPath(s.to.Path)
	if s.answered {
		if s.isThere(ctx, source) {
			return s.file, PlaceSource, nil
		}
		to = source // nobody is at it: it may keep its name
	} else {
		// The rename's own answer may have been lost, here or in an earlier attempt.
		if s.isThere(ctx, to) {
			return s.to, PlaceSource, nil
		}
		err := s.req.FS.Rename(ctx, source, to)
		if err == nil {
			return s.to, PlaceSource, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return s.file, PlaceUnknown, err
		}
	}
	back := s.to
	if s.answered {
		back = s.file
	}
	if !s.direct {
		stage := path.Join(fsPath(s.token), s.file.Family, path.Base(source))
		switch _, err := s.req.FS.Stat(ctx, stage); {
		case err == nil:
			if !s.lain(ctx) {
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
	found, known := s.inStore(ctx, s.file, s.region)
	if found {
		return s.file, PlaceStore, nil
	}
	// A server that fails puts a file back from the staging directory to its source, so it may have been on the way.
	if s.goneSince.IsZero() {
		s.goneSince = time.Now()
		return s.file, PlaceUnknown, nil
	}
	if !known && time.Since(s.goneSince) > 10*settlePause {
		s.c.log.Warn("file taken for loaded: it is neither at its source nor in the staging directory, and the stores cannot be looked into", "file", s.file.Path)
		return s.file, PlaceStore, nil
	}
	return s.file, PlaceUnknown, nil
}

// isThere says whether the file is at a place, or another one of whose identity nothing is known.
func (s *settling) isThere(ctx context.Context, name string) bool {
	info, err := s.req.FS.Stat(ctx, name)
	if err != nil {
		return false
	}
	id, ok := hdfsio.FileID(info)
	return !ok || s.file.FileID == 0 || id == s.file.FileID
}

// lain says whether a file in the staging directory may be taken from there: the server has answered, or the region is
// served by another, or the file has lain still for long.
func (s *settling) lain(ctx context.Context) bool {
	if s.answered {
		return true
	}
	if s.stagedSince.IsZero() {
		s.stagedSince = time.Now()
	}
	if time.Since(s.stagedSince) >= s.c.cfg.StageQuiet {
		return true
	}
	if s.region.Name == nil {
		return false
	}
	regions, err := s.c.Regions(ctx, s.req.Table)
	if err != nil {
		return false
	}
	now := regions[find(regions, s.file.First)]
	return now.Server != "" && now.Server != s.region.Server
}

// fencedPath is the next name of a file: NAME, NAME.r1, NAME.r2.
func fencedPath(name string) string {
	if i := strings.LastIndex(name, ".r"); i > strings.LastIndexByte(name, '/') {
		if n, err := strconv.Atoi(name[i+2:]); err == nil && n > 0 {
			return name[:i+2] + strconv.Itoa(n+1)
		}
	}
	return name + ".r1"
}

// inStore looks for a file in the stores of the table, and in its archive, where a compaction puts it. known is false where
// they cannot be looked into.
func (l *load) inStore(ctx context.Context, f HFile, r Region) (found, known bool) {
	root := fsPath(l.c.cfg.RootDir)
	if l.c.cfg.RootDir == "" || f.FileID == 0 {
		return false, false
	}
	known = true
	for _, dir := range []string{"data", "archive/data"} {
		table := path.Join(root, dir, l.req.Table.Namespace, l.req.Table.Qualifier)
		if r.Encoded != "" {
			if ok, err := l.holds(ctx, path.Join(table, r.Encoded, f.Family), f.FileID); ok {
				return true, true
			} else if err != nil {
				known = false
			}
		}
		regions, err := l.req.FS.ReadDir(ctx, table)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			known = false
		}
		for _, info := range regions {
			if !info.IsDir() || info.Name() == r.Encoded {
				continue
			}
			ok, err := l.holds(ctx, path.Join(table, info.Name(), f.Family), f.FileID)
			if ok {
				return true, true
			}
			known = known && err == nil
		}
	}
	return false, known
}

// holds says whether a directory has the file.
func (l *load) holds(ctx context.Context, dir string, id uint64) (bool, error) {
	infos, err := l.req.FS.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, info := range infos {
		if got, ok := hdfsio.FileID(info); ok && got == id {
			return true, nil
		}
	}
	return false, nil
}
