package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/hdfsio"
)

// send sends one region's files once, and resolves their outcome. With a returnedError it returns the files that are still to be sent.
func (l *load) send(ctx context.Context, at *line, g group) (group, error) {
	if g.region.Server == "" {
		return l.returned(g, errNotAssigned)
	}
	conn, err := at.open(ctx, l.cluster, g.region.Server)
	if err != nil {
		if ctx.Err() != nil {
			return g, context.Cause(ctx)
		}
		return l.returned(g, err)
	}
	l.locate(g, PlaceUnknown)
	g.called = true
	started := time.Now()
	loaded, err := l.call(ctx, conn, g)
	took := time.Since(started)
	at.answered(took, err)
	if err == nil && loaded {
		l.cluster.log.Debug("region loaded", "region", g.region.Encoded, "files", len(g.files), "took", took)
		return g, l.loaded(g, g.files)
	}
	if err == nil {
		return l.refused(ctx, g, took)
	}
	if re, ok := errors.AsType[*RemoteError](err); ok {
		switch hbaserpc.ReactionTo(re) {
		case hbaserpc.Relocate, hbaserpc.BackOff:
			return l.returned(g, re)
		case hbaserpc.GiveUp:
			// Checks that the server makes before it moves anything. But a coprocessor may throw the same after the load.
			if l.atSources(g.files) {
				l.locate(g, PlaceSource)
				l.notDone(g, re)
				return g, &RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Causes: l.remoteCauses(l.linger, g, re), Err: re}
			}
		}
		return l.settleGroup(g, err, true)
	}
	if ce, ok := errors.AsType[*ConnectionError](err); ok && !ce.Sent {
		return l.returned(g, ce)
	}
	return l.settleGroup(g, err, false)
}

// loaded records that files of a group are in the region, and reports it.
func (l *load) loaded(g group, files []HFile) error {
	if len(files) == len(g.files) {
		l.locate(g, PlaceStore)
	}
	l.stored(files)
	return notifyPair(l, l.req.Events.OnLoaded, g.region, files)
}

// returned reports a load that was not begun. All its files are at their sources.
func (l *load) returned(g group, reason error) (group, error) {
	l.locate(g, PlaceSource)
	if kind := failureKind(reason); g.failure == kind {
		g.same++
	} else {
		g.failure, g.same = kind, 1
	}
	err := returnedError{&RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Err: reason}}
	l.cluster.log.Info("region not loaded, nothing was done", "region", g.region.Encoded, "server", g.region.Server, "try", g.attempts, "error", reason)
	if e := l.reportReturned(g, reason); e != nil {
		return g, e
	}
	return g, err
}

// reportReturned calls the handler of files that are at their sources.
func (l *load) reportReturned(g group, reason error) error {
	on := l.req.Events.OnReturned
	if on == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return on(g.region, g.files, reason)
}

// notDone reports, of a load that has failed, files that certainly are at their sources. If that cannot be recorded they count as sent, and the
// next attempt looks for them before it sends them: the error that is returned stays the load's.
func (l *load) notDone(g group, reason error) (recorded bool) {
	err := l.reportReturned(g, reason)
	if err != nil {
		l.cluster.log.Warn("files that were not loaded could not be recorded as such", "region", g.region.Encoded, "error", err)
	}
	return err == nil
}

// atSources reports whether all files are seen at their sources. It is called after an answer, when the server has finished with them.
func (l *load) atSources(files []HFile) bool {
	ctx, cancel := context.WithTimeout(l.linger, l.cluster.cfg.CallTimeout)
	defer cancel()
	return !slices.ContainsFunc(files, func(f HFile) bool {
		there, err := (&settling{load: l, file: f}).isThere(ctx, fsPath(f.Path))
		return err != nil || !there
	})
}

// failureKind classifies failures. The rest of an exception's text may differ from one time to the next.
func failureKind(err error) string {
	if re, ok := errors.AsType[*RemoteError](err); ok {
		return re.Class
	}
	return err.Error()
}

// renamesGivenUp is less than the time for which a region server repeats a rename that HDFS refuses, as for a quota of the table's directory
// (HRegionFileSystem.rename waits 1 to 10 s, 55 s in all).
const renamesGivenUp = 50 * time.Second

// errRefused is an answer without a reason that nothing was loaded, while the region is unchanged.
var errRefused = errors.New("refused without a reason")

// errSafeMode is an answer without a reason, while HDFS was in safe mode.
var errSafeMode = errors.New("refused while HDFS was in safe mode, which hdfs dfsadmin -safemode leave ends")

// safeModer is a file system with a safe mode, in which it refuses changes: HDFS.
type safeModer interface {
	SafeMode(ctx context.Context) (on bool, err error)
}

// awaitSafeMode waits for the end of HDFS's safe mode, as after a restart of the NameNode, for as long as the load may continue without progress. It
// reports whether HDFS was in safe mode.
func (l *load) awaitSafeMode(ctx context.Context) (was bool) {
	hdfs, ok := l.req.FS.(safeModer)
	for ok {
		on, err := hdfs.SafeMode(ctx)
		if err != nil || !on {
			break
		}
		if !was {
			l.cluster.log.Warn("HDFS is in safe mode, waiting for its end", "table", l.req.Table.String(), "hint", "hdfs dfsadmin -safemode leave ends it")
		}
		if was = true; l.stalled() || retry.Sleep(ctx, time.Second) != nil {
			break
		}
	}
	return was
}

// refused finds the files of a load that the server says it did not do, and moves those in the staging directory back. Only after such an
// answer may they be moved at once: after a lost one the server may still be working. They are sent again if the region has changed
// meanwhile, which then was the reason, or if this is the first time: a region that was busy with a flush answers the same. After the
// second time, sending them again does not help, nor once the server has repeated a rename itself. While HDFS is in safe mode nothing is done.
func (l *load) refused(ctx context.Context, g group, took time.Duration) (group, error) {
	outer := ctx
	inSafeMode := l.awaitSafeMode(ctx)
	ctx, cancel := context.WithTimeoutCause(l.linger, l.cluster.cfg.RetryTimeout,
		fmt.Errorf("looking for the files of a refused load took more than %s", l.cluster.cfg.RetryTimeout))
	defer cancel()
	e := &RefusedError{Table: l.req.Table, Region: g.region, User: l.cluster.cfg.EffectiveUser}
	var done, rest []HFile
	lost := false
	for _, f := range g.files {
		state := l.findFile(ctx, f)
		if state.Place == PlaceGone {
			// The server stops in the middle of its files when HDFS fails, or when its WAL was taken from it.
			if _, place, err := l.settle(ctx, ctx, f, g.region, true); err == nil {
				state.Place = place
			} else {
				state.Err = err
			}
		}
		e.Files = append(e.Files, state)
		switch state.Place {
		case PlaceSource:
			rest = append(rest, f)
		case PlaceStore:
			done = append(done, f)
		default:
			lost = true
		}
	}
	if lost {
		l.locate(g, PlaceUnknown)
		l.mu.Lock()
		for _, state := range e.Files {
			l.place[state.File.Path] = state.Place
		}
		l.mu.Unlock()
		return g, errors.Join(e, notify(l, l.req.Events.OnRefused, e))
	}
	if len(done) > 0 {
		l.cluster.log.Warn("bulk load partially applied, then refused: some files are visible", "region", g.region.Encoded, "loaded", len(done), "pending", len(rest))
		if err := l.loaded(g, done); err != nil || len(rest) == 0 {
			return g, err
		}
		g.files = rest
	}
	l.locate(g, PlaceSource)
	if regions, err := l.cluster.Regions(ctx, l.req.Table); err == nil {
		now := regions[find(regions, g.files[0].First)]
		if !bytes.Equal(now.Name, g.region.Name) || now.Server != g.region.Server {
			return l.returned(g, fmt.Errorf("refused while the region moved to %s on %s", now.Encoded, now.Server))
		}
	}
	if inSafeMode {
		return l.returned(g, errSafeMode)
	}
	if g.failure != errRefused.Error() && took < renamesGivenUp && outer.Err() == nil {
		return l.returned(g, errRefused)
	}
	e.Causes = l.causes(ctx, g)
	return g, errors.Join(e, notify(l, l.req.Events.OnRefused, e))
}

// findFile looks for a file at its source and in the staging directory, and moves it back from there.
func (l *load) findFile(ctx context.Context, f HFile) FileState {
	state := FileState{File: f}
	source := fsPath(f.Path)
	stage := path.Join(fsPath(l.staged), f.Family, path.Base(source))
	atSource, sourceErr := l.req.FS.Stat(ctx, source)
	var atStage fs.FileInfo
	stageErr := fs.ErrNotExist
	if l.staged != "" {
		atStage, stageErr = l.req.FS.Stat(ctx, stage)
	}
	switch {
	case sourceErr == nil:
		state.Place, state.Path = PlaceSource, source
		l.describe(ctx, &state, atSource)
	case stageErr == nil && errors.Is(sourceErr, fs.ErrNotExist):
		state.Place, state.Path = PlaceStage, stage
		if err := l.req.FS.Rename(ctx, stage, source); err != nil {
			state.Err = fmt.Errorf("move it back: %w", err)
			l.describe(ctx, &state, atStage)
			return state
		}
		state.Place, state.Path = PlaceSource, source
		l.describe(ctx, &state, atStage)
	case errors.Is(sourceErr, fs.ErrNotExist) && errors.Is(stageErr, fs.ErrNotExist):
		state.Place = PlaceGone
	default:
		state.Err = errors.Join(sourceErr, stageErr)
	}
	return state
}

// describe fills in owner and mode of a file and its directory.
func (l *load) describe(ctx context.Context, state *FileState, info fs.FileInfo) {
	state.Mode = info.Mode()
	state.Owner, state.Group = hdfsio.Owner(info)
	if dir, err := l.req.FS.Stat(ctx, path.Dir(state.Path)); err == nil {
		state.DirMode = dir.Mode()
		state.DirOwner, state.DirGroup = hdfsio.Owner(dir)
	}
}
