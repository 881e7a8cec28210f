package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
)

// send sends one region's files once, and finds out what became of them.
func (l *load) send(ctx context.Context, g group) error {
	if g.region.Server == "" {
		return l.returned(g, errNotAssigned, 0)
	}
	// A connection of its own: it has the long timeout, and nothing else can break it.
	conn, err := l.c.dial(ctx, g.region.Server, region.RegionClient, l.c.cfg.LoadTimeout)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return l.returned(g, err, 0)
	}
	defer conn.close()
	if on := l.req.Events.OnSend; on != nil {
		l.mu.Lock()
		err := on(g.region, g.files, g.attempts)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	l.locate(g, PlaceUnknown, 0)
	started := time.Now()
	loaded, err := l.call(ctx, conn, g)
	took := time.Since(started)
	if err == nil && loaded {
		l.locate(g, PlaceStore, took)
		l.c.log.Debug("region loaded", "region", g.region.Encoded, "files", len(g.files), "took", took)
		if on := l.req.Events.OnLoaded; on != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			return on(g.region, g.files)
		}
		return nil
	}
	if err == nil {
		return l.refused(ctx, g, took)
	}
	if re, ok := errors.AsType[*RemoteError](err); ok {
		switch re.Reaction() {
		case Relocate, BackOff:
			return l.returned(g, re, took)
		case GiveUp:
			// Checks that come before anything is moved.
			l.locate(g, PlaceSource, took)
			return &RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Err: re}
		}
	}
	if ce, ok := errors.AsType[*ConnectionError](err); ok && !ce.Sent {
		return l.returned(g, ce, took)
	}
	unknown := &UnknownOutcomeError{Table: l.req.Table, Region: g.region, Token: l.token, Files: g.files, Err: err}
	return errors.Join(unknown, tell(l, l.req.Events.OnUnknown, unknown))
}

// call makes the call. When the context ends the answer is still waited for, for LoadGrace: a load takes a second or two,
// and one whose answer nobody heard costs far more.
func (l *load) call(ctx context.Context, conn *link, g group) (loaded bool, err error) {
	callCtx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), l.c.cfg.LoadTimeout,
		fmt.Errorf("no answer within %s", l.c.cfg.LoadTimeout))
	defer cancel()
	callCtx, giveUp := context.WithCancelCause(callCtx)
	defer giveUp(nil)
	grace := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(grace)
		if sleep(callCtx, l.c.cfg.LoadGrace) == nil {
			giveUp(fmt.Errorf("no answer within %s of the stop: %w", l.c.cfg.LoadGrace, context.Cause(ctx)))
		}
	})
	defer func() {
		if !stop() {
			giveUp(nil)
			<-grace
		}
	}()
	resp := &pb.BulkLoadHFileResponse{}
	err = conn.invoke(callCtx, "BulkLoadHFile", bulkLoadRequest(g.region, l.token, g.files), resp)
	return err == nil && resp.GetLoaded(), err
}

// returned is a load of which nothing was done. All its files are at their sources.
func (l *load) returned(g group, reason error, took time.Duration) error {
	l.locate(g, PlaceSource, took)
	err := returnedError{&RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Err: reason}}
	l.c.log.Info("region not loaded, nothing was done", "region", g.region.Encoded, "server", g.region.Server, "attempt", g.attempts, "err", reason)
	if on := l.req.Events.OnReturned; on != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e := on(g.region, g.files, reason); e != nil {
			return e
		}
	}
	return err
}

// refused finds the files of a load that the server says it did not do, and moves those in the staging directory back.
// Only after such an answer may they be moved: after a lost one the server may still be at it. When all are back and the
// region has changed meanwhile, that was the reason, and they are sent again.
func (l *load) refused(ctx context.Context, g group, took time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), l.c.cfg.RetryTimeout,
		fmt.Errorf("looking for the files of a refused load took more than %s", l.c.cfg.RetryTimeout))
	defer cancel()
	e := &RefusedError{Table: l.req.Table, Region: g.region, User: l.c.cfg.EffectiveUser}
	back := true
	for _, f := range g.files {
		state := l.findFile(ctx, f)
		e.Files = append(e.Files, state)
		back = back && state.Place == PlaceSource
	}
	if !back {
		l.locate(g, PlaceUnknown, took)
		l.mu.Lock()
		for _, state := range e.Files {
			l.place[state.File.Path] = state.Place
		}
		l.mu.Unlock()
		return errors.Join(e, tell(l, l.req.Events.OnRefused, e))
	}
	l.locate(g, PlaceSource, took)
	regions, err := l.c.Regions(ctx, l.req.Table)
	if err == nil {
		if _, err := assign(l.req.Table, regions, g.files, l.req.MaxFiles); err != nil {
			return errors.Join(err, tell(l, l.req.Events.OnRefused, e))
		}
		now := regions[find(regions, g.files[0].First)]
		if !bytes.Equal(now.Name, g.region.Name) || now.Server != g.region.Server {
			return l.returned(g, fmt.Errorf("refused while the region moved to %s on %s", now.Encoded, now.Server), took)
		}
	}
	return errors.Join(e, tell(l, l.req.Events.OnRefused, e))
}

// findFile looks for a file at its source and in the staging directory, and moves it back from there.
func (l *load) findFile(ctx context.Context, f HFile) FileState {
	state := FileState{File: f}
	source := fsPath(f.Path)
	stage := path.Join(fsPath(l.token), f.Family, path.Base(source))
	atSource, sourceErr := l.req.FS.Stat(ctx, source)
	atStage, stageErr := l.req.FS.Stat(ctx, stage)
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
		state.Place, state.Path, state.Moved = PlaceSource, source, true
		l.describe(ctx, &state, atStage)
	case errors.Is(sourceErr, fs.ErrNotExist) && errors.Is(stageErr, fs.ErrNotExist):
		state.Place = PlaceGone
	default:
		state.Err = errors.Join(sourceErr, stageErr)
	}
	return state
}

// describe fills in who may do what with a file and its directory.
func (l *load) describe(ctx context.Context, state *FileState, info fs.FileInfo) {
	state.Mode = info.Mode()
	state.Owner, state.Group = owner(info)
	if dir, err := l.req.FS.Stat(ctx, path.Dir(state.Path)); err == nil {
		state.DirMode = dir.Mode()
		state.DirOwner, state.DirGroup = owner(dir)
	}
}

// owner asks a file's description for its owner. HDFS's has one.
func owner(info fs.FileInfo) (user, group string) {
	if f, ok := info.(interface {
		Owner() string
		OwnerGroup() string
	}); ok {
		return f.Owner(), f.OwnerGroup()
	}
	return "", ""
}
