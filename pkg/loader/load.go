package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/pkg/hdfsio"

	"golang.org/x/sync/errgroup"
)

// Load brings files into the regions of a table. When it returns without an error all are in the table and the staging
// directory is gone. Otherwise the report says of each region where its files are; the error is one of this package's
// types, or several joined.
func (c *Cluster) Load(ctx context.Context, req LoadRequest) (*LoadReport, error) {
	report := &LoadReport{}
	if err := req.Validate(); err != nil {
		return report, err
	}
	started := time.Now()
	defer func() { report.Took = time.Since(started) }()
	l := &load{c: c, req: req.withDefaults(), report: report, place: map[string]Place{}, regions: map[string]*RegionLoad{}}
	if err := l.check(ctx); err != nil {
		return report, err
	}
	if len(req.Files) == 0 {
		return report, nil
	}
	if err := l.checkRegions(ctx); err != nil {
		return report, err
	}
	if err := l.stage(ctx); err != nil {
		return report, err
	}
	err := l.all(ctx)
	l.summarize()
	return report, errors.Join(err, l.clean(ctx))
}

// checkRegions sees, where nothing can be rewritten, that all files fit before HBase is asked for anything.
func (l *load) checkRegions(ctx context.Context) error {
	if l.req.Rewriter != nil {
		return nil
	}
	regions, err := l.c.Regions(ctx, l.req.Table)
	if err != nil {
		return err
	}
	_, err = l.arrange(ctx, regions, l.files)
	return err
}

// stage makes the staging directory, or takes that of an earlier attempt.
func (l *load) stage(ctx context.Context) (err error) {
	if l.direct {
		return nil
	}
	if token := l.req.Token; token != "" && checkToken(token) == nil {
		if _, err := l.req.FS.Stat(ctx, fsPath(token)); err == nil {
			l.token, l.report.Token = token, token
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("staging directory of the earlier attempt: %w", err)
		}
	}
	if l.token, err = l.c.prepare(ctx, l.req.Table); err != nil {
		return err
	}
	l.report.Token = l.token
	return tell(l, l.req.Events.OnPrepared, l.token)
}

// all loads what is not loaded yet.
func (l *load) all(ctx context.Context) error {
	files, err := l.resolve(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	regions, err := l.c.Regions(ctx, l.req.Table)
	if err != nil {
		return err
	}
	groups, err := l.arrange(ctx, regions, files)
	if err != nil {
		return err
	}
	l.plan(groups)
	l.progressed()
	return l.rounds(ctx, groups)
}

// load is one Load in progress.
type load struct {
	c      *Cluster
	req    LoadRequest
	direct bool
	token  string // none if direct
	files  []HFile
	report *LoadReport

	mu       sync.Mutex // also serializes the events
	place    map[string]Place
	regions  map[string]*RegionLoad // by start key
	progress time.Time              // when a region became loaded, or the load began
}

// tell calls an event that has one argument.
func tell[T any](l *load, event func(T) error, arg T) error {
	if event == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return event(arg)
}

// check is what can be found wrong before the servers are asked to do anything.
func (l *load) check(ctx context.Context) error {
	table, err := l.c.Describe(ctx, l.req.Table)
	if err != nil {
		return err
	}
	switch {
	case table.State != Enabled:
		return &StateError{Table: table.Name, State: table.State, Reason: "is " + table.State.String() + ": enable it first"}
	case table.ReadOnly:
		return &StateError{Table: table.Name, State: table.State, Reason: "is read-only (READONLY => true)"}
	}
	if err := l.checkFamilies(table); err != nil {
		return err
	}
	unknown := map[string]bool{}
	for _, f := range l.req.Unknown {
		unknown[f.Path] = true
	}
	l.files = slices.Clone(l.req.Files)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statsInFlight)
	for i := range l.files {
		if f := &l.files[i]; !unknown[f.Path] {
			g.Go(func() error { return l.checkFile(ctx, f) })
		}
	}
	return g.Wait()
}

// checkFamilies sees that the table has all families, and decides on the way in.
func (l *load) checkFamilies(table *Table) error {
	unknown := map[string]bool{}
	l.direct = l.req.Stage == StageDirect
	for _, f := range l.req.Files {
		family, ok := table.Family(f.Family)
		if !ok {
			unknown[f.Family] = true
			continue
		}
		// The FILE tracker has the server rename into the store as the requesting user, who may not.
		if tracker := table.FileTracker(family); !strings.EqualFold(tracker, "DEFAULT") {
			if l.req.Stage == StageToken {
				return &StateError{Table: table.Name, Reason: fmt.Sprintf("keeps its store files by the tracker %s in family %s, which loads through a staging directory do not work with: load directly (--stage direct)", tracker, family.Name)}
			}
			l.direct = true
		}
	}
	if len(unknown) > 0 {
		e := &FamilyError{Table: table.Name, Unknown: slices.Sorted(maps.Keys(unknown))}
		for _, f := range table.Families {
			e.Families = append(e.Families, f.Name)
		}
		return e
	}
	return nil
}

// checkFile sees that a file is there, as it should be, and remembers which it is.
func (l *load) checkFile(ctx context.Context, f *HFile) error {
	info, err := l.req.FS.Stat(ctx, fsPath(f.Path))
	if err != nil {
		return fmt.Errorf("load %s: %w", f.Path, err)
	}
	id, _ := hdfsio.FileID(info)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("load %s: it is not a file", f.Path)
	case info.Size() == 0 || f.Size > 0 && info.Size() != f.Size:
		return fmt.Errorf("load %s: it has %d bytes, not %d", f.Path, info.Size(), f.Size)
	case f.FileID != 0 && id != f.FileID:
		return fmt.Errorf("load %s: it is another file than the one that was written (file id %d, not %d)", f.Path, id, f.FileID)
	case l.direct && info.Mode().Perm()&0o006 != 0o006:
		return fmt.Errorf("load %s: HBase's user must be able to read and write it (mode %04o): a direct load needs 0666, in a directory of mode 0777",
			f.Path, info.Mode().Perm())
	}
	f.FileID = id
	return nil
}

// statsInFlight is how many files are looked at at a time.
const statsInFlight = 8

// rounds sends the groups, and again those of which it is certain that nothing was done, after the regions were read anew:
// their boundaries and servers may have changed.
func (l *load) rounds(ctx context.Context, groups []group) error {
	for round := 0; ; round++ {
		if err := l.announce(groups); err != nil {
			return err
		}
		again, err := l.round(ctx, groups)
		if err != nil || len(again) == 0 {
			return err
		}
		if err := sleep(ctx, min(200*time.Millisecond<<min(round, 6), 10*time.Second)); err != nil {
			return fmt.Errorf("load table %s: %w", l.req.Table, err)
		}
		regions, err := l.c.Regions(ctx, l.req.Table)
		if err != nil {
			return err
		}
		groups = nil
		for _, g := range again {
			next, err := l.arrange(ctx, regions, g.files)
			if err != nil {
				return err
			}
			for i := range next {
				next[i].attempts = g.attempts
				if bytes.Equal(next[i].region.Name, g.region.Name) {
					next[i].failure, next[i].same = g.failure, g.same
				}
			}
			groups = append(groups, next...)
		}
		groups = joinGroups(groups)
		l.mu.Lock()
		for _, g := range again {
			delete(l.regions, string(g.region.Start))
		}
		l.mu.Unlock()
		l.plan(groups)
	}
}

// announce tells what a round will send.
func (l *load) announce(groups []group) error {
	sending := make([]Sending, len(groups))
	for i, g := range groups {
		sending[i] = Sending{Region: g.region, Files: g.files, Attempt: g.attempts + 1}
	}
	return tell(l, l.req.Events.OnSending, sending)
}

// joinGroups puts together those of one region, which a merge may have brought about.
func joinGroups(groups []group) []group {
	var joined []group
	for _, g := range groups {
		i := slices.IndexFunc(joined, func(have group) bool { return bytes.Equal(have.region.Start, g.region.Start) })
		if i < 0 {
			joined = append(joined, g)
			continue
		}
		joined[i].files = append(joined[i].files, g.files...)
		joined[i].attempts = max(joined[i].attempts, g.attempts)
	}
	return joined
}

// round sends each group once, some per server at a time. After an error no more are sent; those in flight are waited for.
func (l *load) round(ctx context.Context, groups []group) (again []group, err error) {
	byServer := map[string][]group{}
	for _, g := range groups {
		byServer[g.region.Server] = append(byServer[g.region.Server], g)
	}
	var (
		mu   sync.Mutex
		errs []error
		wg   sync.WaitGroup
	)
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0
	}
	for _, queue := range byServer {
		work := make(chan group, len(queue))
		for _, g := range queue {
			work <- g
		}
		close(work)
		for range min(l.req.PerServer, len(queue)) {
			wg.Go(func() {
				for g := range work {
					if failed() {
						return
					}
					var err error
					if ctx.Err() != nil {
						err = fmt.Errorf("load table %s: %w", l.req.Table, context.Cause(ctx))
					} else {
						g.attempts++
						g, err = l.send(ctx, g)
					}
					mu.Lock()
					if returned := (returnedError{}); errors.As(err, &returned) && !l.stalled() {
						again = append(again, g)
					} else if err != nil {
						errs = append(errs, err)
					}
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return again, errors.Join(errs...)
}

// returnedError is a load of which it is certain that nothing was done and that may succeed when it is sent again.
type returnedError struct{ *RegionError }

func (e returnedError) Unwrap() error { return e.RegionError }

// progressed notes that the load is getting on.
func (l *load) progressed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = time.Now()
}

// stalled says whether nothing has been loaded for so long that there is no use in going on.
func (l *load) stalled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.progress) > l.req.Deadline
}

// plan enters groups that are to be sent into the report.
func (l *load) plan(groups []group) {
	for _, g := range groups {
		l.locate(g, PlaceSource, 0)
	}
}

// locate says where the files of a region are, for the report and for clean.
func (l *load) locate(g group, place Place, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range g.files {
		l.place[f.Path] = place
	}
	l.regions[string(g.region.Start)] = &RegionLoad{Region: g.region, Files: g.files, Attempts: g.attempts, Place: place, Took: took}
}

// summarize fills the report.
func (l *load) summarize() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, start := range slices.Sorted(maps.Keys(l.regions)) {
		r := l.regions[start]
		l.report.Regions = append(l.report.Regions, *r)
	}
}

// stored notes files that are in the table.
func (l *load) stored(files []HFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = time.Now()
	for _, f := range files {
		l.place[f.Path] = PlaceStore
		l.report.Loaded++
		l.report.Bytes += f.Size
		l.report.Cells += f.Cells
	}
}

// clean deletes the staging directory, if every file is known to be at its source or in the table and none is seen in the
// directory: it would be deleted too. That it was kept, or could not be deleted, does not undo a load: it is logged only.
func (l *load) clean(ctx context.Context) error {
	if l.direct {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.c.cfg.CallTimeout)
	defer cancel()
	for path, place := range l.place {
		if place != PlaceSource && place != PlaceStore {
			l.c.log.Warn("the staging directory is kept, a file may be in it", "dir", l.token, "file", path, "place", place.String())
			return nil
		}
	}
	for family := range l.families() {
		dir := fsPath(l.token) + "/" + family
		infos, err := l.req.FS.ReadDir(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(infos) > 0 {
			l.c.log.Warn("the staging directory is kept, it is not empty or cannot be read", "dir", dir, "files", len(infos), "err", err)
			return nil
		}
	}
	if err := l.c.cleanup(ctx, l.req.Table, l.token); err != nil {
		l.c.log.Warn("the staging directory could not be deleted", "dir", l.token, "err", err)
		return nil
	}
	l.report.Cleaned = true
	return tell(l, l.req.Events.OnCleaned, l.token)
}

func (l *load) families() map[string]bool {
	families := map[string]bool{}
	for _, f := range l.req.Files {
		families[f.Family] = true
	}
	return families
}
