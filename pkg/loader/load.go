package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"bulkload/pkg/kerberos"
)

// Load loads files into the regions of a table. When it returns without an error, all are in the table; [LoadReport.Cleaned] says whether
// the staging directory was deleted, which may fail without an error. Otherwise the report lists for each region where its files are; the
// error is one of this package's types, or several joined.
func (c *Cluster) Load(ctx context.Context, req LoadRequest) (*LoadReport, error) {
	report := &LoadReport{}
	if err := req.Validate(); err != nil {
		return report, err
	}
	started := time.Now()
	defer func() { report.Took = time.Since(started) }()
	linger, stop := withGrace(ctx, c.cfg.LoadGrace)
	defer stop()
	l := &load{cluster: c, req: req.withDefaults(), linger: linger, files: slices.Clone(req.Files), report: report,
		sent: map[string]bool{}, tracked: map[string]bool{}, moved: map[string]string{}, place: map[string]Place{}, regions: map[string]*RegionLoad{}}
	for _, f := range req.Unknown {
		l.sent[f.Path] = true
		l.place[f.Path] = PlaceUnknown // until the outcome is resolved, the staging directory must stay
	}
	if err := l.check(ctx); err != nil {
		return report, err
	}
	if len(req.Files) == 0 {
		return report, l.cleanEarlier(ctx)
	}
	if err := l.checkRegions(ctx); err != nil {
		return report, err
	}
	if err := l.stage(ctx); err != nil {
		return report, err
	}
	err := l.all(ctx)
	l.summarize()
	return report, errors.Join(err, l.clean(err != nil))
}

// cleanEarlier deletes the staging directory of an earlier attempt that loaded all files.
func (l *load) cleanEarlier(ctx context.Context) error {
	if l.req.Token == "" || checkToken(l.req.Token) != nil {
		return nil
	}
	if _, err := l.req.FS.Stat(ctx, fsPath(l.req.Token)); err != nil {
		return nil // it is gone, or cannot be read
	}
	l.staged, l.report.Token = l.req.Token, l.req.Token
	return l.clean(false)
}

// checkRegions checks, if files cannot be rewritten, that all files fit the regions before any request to HBase.
func (l *load) checkRegions(ctx context.Context) error {
	if l.req.Rewriter != nil {
		return nil
	}
	regions, err := l.cluster.Regions(ctx, l.req.Table)
	if err != nil {
		return err
	}
	// The outcome of a file that was sent is not known yet: it may be in the table, whose regions have changed since.
	_, err = l.arrange(ctx, regions, slices.DeleteFunc(slices.Clone(l.files), func(f HFile) bool { return l.sent[f.Path] }))
	return err
}

// stage makes the staging directory, or uses that of an earlier attempt. A direct load needs none; if one still exists, files are looked
// for in it.
func (l *load) stage(ctx context.Context) (err error) {
	if token := l.req.Token; token != "" && checkToken(token) == nil {
		if _, err := l.req.FS.Stat(ctx, fsPath(token)); err == nil {
			if l.staged, l.report.Token = token, token; !l.direct {
				l.token = token
			}
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) && (len(l.req.Unknown) > 0 || !l.direct && !errors.Is(err, fs.ErrPermission)) {
			// Files whose outcome is unknown may be in it.
			return fmt.Errorf("staging directory of the earlier attempt: %w", err)
		}
	}
	if l.direct {
		return nil
	}
	if l.token, err = l.cluster.Prepare(ctx, l.req.Table); err != nil {
		return err
	}
	l.staged, l.report.Token = l.token, l.token
	if err = notify(l, l.req.Events.OnPrepared, l.token); err != nil { // no later attempt may know of the directory
		ctx, cancel := context.WithTimeout(l.linger, min(l.cluster.cfg.CallTimeout, failedCleanTimeout))
		defer cancel()
		l.drop(ctx)
	}
	return err
}

// all loads the files that are not loaded yet.
func (l *load) all(ctx context.Context) error {
	files, err := l.resolve(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	regions, err := l.cluster.Regions(ctx, l.req.Table)
	if err != nil {
		return err
	}
	groups, err := l.arrange(ctx, regions, files)
	if err != nil {
		return err
	}
	if _, err := l.fileToken(ctx, files[0].Path); err != nil {
		return err
	}
	l.plan(groups)
	l.progressed()
	return l.rounds(ctx, groups)
}

// load is one Load in progress.
type load struct {
	cluster *Cluster
	req     LoadRequest
	linger  context.Context // outlives Load's own by LoadGrace
	direct  bool
	mover   string          // HBase's user if direct, empty where that is not known
	token   string          // with which files are sent, empty if direct
	staged  string          // the staging directory in which a file may be: the token, or that of an earlier attempt
	tracked map[string]bool // families whose store files are listed by a tracker, not by the directory
	sent    map[string]bool // files that an earlier attempt sent without an answer
	files   []HFile
	report  *LoadReport

	readings readings

	moving sync.Mutex
	moved  map[string]string // server from which a region was moved, by its encoded name

	mu       sync.Mutex      // also serializes the events
	fs       *kerberos.Token // the last one with which the servers take files as the user, nil without security
	place    map[string]Place
	regions  map[string]*RegionLoad // by start key
	progress time.Time              // when a region became loaded, or the load began
}

// notify calls an event handler that has one argument.
func notify[T any](l *load, event func(T) error, arg T) error {
	if event == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return event(arg)
}

// notifyPair calls an event handler that has two arguments.
func notifyPair[A, B any](l *load, event func(A, B) error, a A, b B) error {
	if event == nil {
		return nil
	}
	return notify(l, func(b B) error { return event(a, b) }, b)
}

func (l *load) progressed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = time.Now()
}

// stalled reports whether nothing has been loaded for the load's Deadline.
func (l *load) stalled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.progress) > l.req.Deadline
}

// plan adds groups that are to be sent to the report.
func (l *load) plan(groups []group) {
	for _, g := range groups {
		l.locate(g, PlaceSource)
	}
}

// locate records the place of a region's files, for the report and for clean.
func (l *load) locate(g group, place Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range g.files {
		l.place[f.Path] = place
	}
	l.regions[string(g.region.Start)] = &RegionLoad{Region: g.region, Files: g.files, Attempts: g.attempts, Place: place}
}

func (l *load) summarize() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, start := range slices.Sorted(maps.Keys(l.regions)) {
		r := l.regions[start]
		l.report.Regions = append(l.report.Regions, *r)
	}
}

// stored records files that are in the table.
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

// failedCleanTimeout bounds the cleanup after a failed load. If it fails, an empty directory stays.
const failedCleanTimeout = 5 * time.Second

// clean deletes the staging directory, if every file is known to be at its source or in the table and none is seen in the directory: it
// would be deleted too. If the directory was kept, or could not be deleted, the load still succeeds: that is logged only.
func (l *load) clean(failed bool) error {
	if l.staged == "" {
		return nil
	}
	limit := l.cluster.cfg.CallTimeout
	if failed { // the cause of the failure, a disabled table say, may keep this from succeeding too
		limit = min(limit, failedCleanTimeout)
	}
	ctx, cancel := context.WithTimeout(l.linger, limit)
	defer cancel()
	for name, place := range l.place {
		if place != PlaceSource && place != PlaceStore {
			l.cluster.log.Warn("the staging directory is kept, a file may be in it", "dir", l.staged, "file", name, "place", place.String())
			return nil
		}
	}
	families, err := l.stagedFamilies(ctx)
	if err != nil {
		l.cluster.log.Warn("the staging directory is kept, it cannot be read", "dir", l.staged, "error", err)
		return nil
	}
	for family := range families {
		dir := fsPath(l.staged) + "/" + family
		infos, err := l.req.FS.ReadDir(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(infos) > 0 {
			l.cluster.log.Warn("the staging directory is kept, it is not empty or cannot be read", "dir", dir, "files", len(infos), "error", err)
			return nil
		}
	}
	if owned := l.req.Events.OnCleaning; owned != nil {
		if err := owned(ctx); err != nil {
			l.cluster.log.Warn("the staging directory is kept", "dir", l.staged, "error", err)
			return nil
		}
	}
	if l.drop(ctx); !l.report.Cleaned {
		return nil
	}
	return notify(l, l.req.Events.OnCleaned, l.staged)
}

// drop deletes the staging directory. A failure is only logged.
func (l *load) drop(ctx context.Context) {
	if err := l.cluster.Cleanup(ctx, l.req.Table, l.staged); err != nil {
		l.cluster.log.Warn("the staging directory could not be deleted", "dir", l.staged, "error", err)
		return
	}
	l.report.Cleaned = true
}

// stagedFamilies returns the families of the files, and those in the staging directory of an earlier attempt.
func (l *load) stagedFamilies(ctx context.Context) (map[string]bool, error) {
	families := map[string]bool{}
	for _, f := range l.req.Files {
		families[f.Family] = true
	}
	if l.req.Token == "" {
		return families, nil
	}
	infos, err := l.req.FS.ReadDir(ctx, fsPath(l.staged))
	for _, info := range infos {
		families[info.Name()] = true
	}
	return families, err
}
