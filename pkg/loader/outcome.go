package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/hfile"
)

// After a lost answer the server may have finished, may be working, or may not have begun. Renames on HDFS are atomic, so the first to move
// a file owns it: a file that this side can rename was not taken by the server, and a request that still waits there will not find it. So
// there is no need to wait until the server cannot be working any more.

// resolve resolves the outcome of the files for which an earlier attempt had no answer, and returns all files that are not loaded.
func (l *load) resolve(ctx context.Context) ([]HFile, error) {
	var files, open []HFile
	for _, f := range l.files {
		if l.sent[f.Path] {
			open = append(open, f)
		} else {
			files = append(files, f)
		}
	}
	if len(open) == 0 {
		return files, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("load table %s: %w", l.req.Table, err)
	}
	out := l.settleAll(open, Region{}, false)
	l.report.Resolved += int64(len(out.loaded))
	l.stored(out.loaded)
	if len(out.unknown) > 0 {
		return nil, &UnknownOutcomeError{Table: l.req.Table, Token: l.staged, Files: out.unknown, Err: out.err}
	}
	return append(files, out.source...), nil
}

// settleGroup resolves the outcome of a region's files. After an exception the server has finished with them; after a lost answer it may
// not have.
func (l *load) settleGroup(g group, cause error, answered bool) (group, error) {
	l.cluster.log.Debug("answer lost, resolving the outcome of the files", "region", g.region.Encoded, "server", g.region.Server, "error", cause)
	lost := &UnknownOutcomeError{Table: l.req.Table, Region: g.region, Token: l.staged, Files: g.files, Err: cause}
	if err := notify(l, l.req.Events.OnUnknown, lost); err != nil {
		return g, errors.Join(lost, err)
	}
	out := l.settleAll(g.files, g.region, answered)
	if n := len(out.source) + len(out.unknown); n > 0 && len(out.loaded) > 0 {
		l.cluster.log.Warn("bulk load partially applied: some files are visible", "region", g.region.Encoded, "loaded", len(out.loaded), "pending", n)
	}
	if len(out.loaded) > 0 {
		if err := l.loaded(g, out.loaded); err != nil {
			return g, err
		}
	}
	if len(out.unknown) > 0 {
		g.files = out.unknown
		return g, &UnknownOutcomeError{Table: l.req.Table, Region: g.region, Token: l.staged, Files: out.unknown, Err: fmt.Errorf("%w; %w", cause, out.err)}
	}
	if len(out.source) == 0 {
		return g, nil
	}
	g.files = out.source
	g, err := l.returned(g, cause)
	if most := sameExceptions(cause); answered && g.same >= most {
		return g, errors.Join(&RegionError{Table: l.req.Table, Region: g.region, Files: g.files, Attempts: g.attempts, Causes: l.remoteCauses(l.linger, g, cause), Err: cause}, eventError(err))
	}
	return g, err
}

// eventError returns nil if an error is of the search, and the error itself if it is of an event handler.
func eventError(err error) error {
	if _, ok := errors.AsType[returnedError](err); ok {
		return nil
	}
	return err
}

// sameExceptions returns how many times in a row a load is sent that is answered by the same exception. An exception about a file or
// permissions recurs until an operator acts; after another the NameNode may just be restarting.
func sameExceptions(err error) int {
	switch {
	case hbaserpc.ReactionTo(err) == hbaserpc.GiveUp:
		return 1
	case hbaserpc.Threw(err, lasting...):
		return 2
	}
	return 5
}

// lasting lists exceptions of the file system and of files, by short name.
var lasting = []string{
	"AccessControlException", "FileNotFoundException", "CorruptHFileException", "InvalidHFileException", "WrongRegionException",
	"NSQuotaExceededException", "DSQuotaExceededException", "NoSuchFileException", "AccessDeniedException",
}

// settleInFlight is the number of files that are searched in parallel. It is large, as each may have to stay unchanged for StageQuiet.
const settleInFlight = 64

// outcome sorts files by the result of their load.
type outcome struct {
	loaded, source, unknown []HFile
	err                     error // why outcomes are unknown
}

// minLook is the time for the first look at a file, even if the search ends sooner: a search without a look finds nothing.
const minLook = 30 * time.Second

// settleAll resolves the outcome of files, for SettleTimeout at most, and with at least one look. The region, if known, is the one that
// they were sent to.
func (l *load) settleAll(files []HFile, r Region, answered bool) outcome {
	limit := l.cluster.cfg.SettleTimeout
	late := fmt.Errorf("outcome not resolved within %s", limit)
	ctx, cancel := context.WithTimeoutCause(l.linger, limit, late)
	defer cancel()
	first, cancelFirst := context.WithTimeoutCause(l.linger, max(limit, minLook), late)
	defer cancelFirst()
	settled := make([]HFile, len(files))
	places := make([]Place, len(files))
	errs := make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(settleInFlight)
	for i, f := range files {
		g.Go(func() error {
			settled[i], places[i], errs[i] = l.settle(ctx, first, f, r, answered)
			return nil
		})
	}
	_ = g.Wait()
	var out outcome
	for i, f := range settled {
		switch {
		case errs[i] != nil || places[i] == PlaceUnknown:
			out.unknown = append(out.unknown, files[i])
			out.err = cmp.Or(out.err, errs[i]) // one is enough; the others usually have the same reason
		case places[i] == PlaceStore:
			out.loaded = append(out.loaded, f)
		default:
			out.source = append(out.source, f)
		}
	}
	return out
}

// settlePause is the pause between the first two looks; later pauses grow up to settlePauseMax.
const (
	settlePause    = 50 * time.Millisecond
	settlePauseMax = 2 * time.Second
)

// settle determines whether a file was loaded, by repeated looks until ctx ends; the first look has a context of its own. If the file was
// not loaded, it may have a new path.
func (l *load) settle(ctx, first context.Context, f HFile, r Region, answered bool) (HFile, Place, error) {
	fenced := f
	fenced.Path = fencedPath(f.Path)
	s := &settling{load: l, file: f, to: fenced, region: r, answered: answered}
	if !answered {
		if err := notifyPair(l, l.req.Events.OnFencing, f, fenced.Path); err != nil {
			return f, PlaceUnknown, err
		}
	}
	pauses := retry.Policy{First: settlePause, Most: settlePauseMax}
	for looks, now := 1, first; ; looks, now = looks+1, ctx {
		before := s.findings
		got, place, err := s.look(now)
		s.failed = err
		switch place {
		case PlaceSource, PlaceStore:
			return got, place, l.settled(f, got, place)
		case PlaceGone:
			return f, PlaceUnknown, s.undecided(errNowhere)
		}
		if looks > 1 && now.Err() != nil {
			s.findings = before // a look that the deadline interrupted has found nothing
		}
		if pauses.Sleep(ctx, looks) != nil {
			return f, PlaceUnknown, s.undecided(context.Cause(ctx))
		}
	}
}

// errNowhere is the error of a file that another process removed.
var errNowhere = errors.New("the region server did not load it, or others removed it")

// settled records and reports the outcome.
func (l *load) settled(was, f HFile, place Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was.Path != f.Path {
		delete(l.place, was.Path)
		if on := l.req.Events.OnFenced; on != nil {
			if err := on(was.Path, f); err != nil {
				return err
			}
		}
	}
	l.place[f.Path] = place
	l.cluster.log.Debug("outcome resolved", "file", f.Path, "place", place.String())
	if on := l.req.Events.OnResolved; on != nil {
		return on(f, place)
	}
	return nil
}

// fencedPath returns the next name of a file: NAME, NAME.r1, NAME.r2.
func fencedPath(name string) string {
	if i := strings.LastIndex(name, ".r"); i > strings.LastIndexByte(name, '/') {
		if n, err := strconv.Atoi(name[i+2:]); err == nil && n > 0 {
			return name[:i+2] + strconv.Itoa(n+1)
		}
	}
	return name + ".r1"
}

// A search of the table itself is the last resort for finding a file. A compaction writes the cells of a loaded file into another one and
// moves the file to the archive, from which HBase deletes it after minutes. The cells stay in the table with their timestamp.

// Reasons why the table gives no evidence.
var (
	errNoTimestamp  = errors.New("the table cannot be searched for its cells: they have no timestamp that only this load uses")
	errNotVacant    = errors.New("the table cannot be searched for its cells: before the load it had cells of this timestamp in these rows, or that is not known")
	errNoCells      = errors.New("the table has no cell of the load's timestamp in its first and its last row: it was not loaded, or they were deleted or have expired since")
	errNoCellsInOne = errors.New("the table has cells of the load's timestamp in only one of its first and its last row: others deleted them, or wrote them")
)

// inTable reports that a file was loaded if the table has cells of its family with the load's timestamp in its first and its last row. It
// reads all versions in the stores, so that neither newer versions nor delete markers hide them. Missing cells are not evidence: the error
// describes the cells found, or the reason why the search is impossible.
func (l *load) inTable(ctx context.Context, f HFile) (bool, error) {
	switch {
	case l.req.Timestamp == 0:
		return false, errNoTimestamp
	case l.req.Shared && !f.Vacant:
		return false, errNotVacant
	}
	first, last, err := l.ends(ctx, f)
	switch {
	case err != nil:
		return false, fmt.Errorf("the table could not be searched for its cells: %w", err)
	case first && last:
		return true, nil
	case first || last:
		return false, errNoCellsInOne
	}
	return false, errNoCells
}

// ends reports whether the first and the last row of a file have cells of its family with the load's timestamp in the table.
func (l *load) ends(ctx context.Context, f HFile) (first, last bool, err error) {
	if first, err = l.hasCells(ctx, f.Family, f.First); err != nil {
		return first, false, err
	}
	if string(f.First) == string(f.Last) {
		return first, first, nil
	}
	last, err = l.hasCells(ctx, f.Family, f.Last)
	return first, last, err
}

// cellsOf returns the request for all cells of a row with the load's timestamp.
func (l *load) cellsOf(family string, row []byte) ScanRequest {
	return ScanRequest{
		Table: l.req.Table, Families: []string{family}, Start: row, Stop: After(row), MaxRows: 1,
		MinTime: l.req.Timestamp, MaxTime: l.req.Timestamp + 1, Raw: true, KeysOnly: true, Versions: allVersions,
		Prompt: true,
	}
}

func (l *load) hasCells(ctx context.Context, family string, row []byte) (found bool, err error) {
	err = l.cluster.Scan(ctx, l.cellsOf(family, row), func(r Row) error {
		for _, c := range r.Cells {
			found = found || c.Type == hfile.Put
		}
		return nil
	})
	return found, err
}

// lookBefore checks, before files are sent and where other loads may have used the timestamp, that the table has no cells of that timestamp
// in the files' first and last rows: only then do later cells prove that a file was loaded. A failure of this check does not stop the load.
func (l *load) lookBefore(ctx context.Context, groups []group) {
	if !l.req.Shared || l.req.Timestamp == 0 {
		return
	}
	limit := l.cluster.cfg.RetryTimeout // for all: no row is read while the table is out of reach
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not seen within %s", limit))
	defer cancel()
	var g errgroup.Group
	g.SetLimit(getsInFlight)
	for _, group := range groups {
		for i := range group.files {
			f := &group.files[i]
			g.Go(func() error {
				first, last, err := l.ends(ctx, *f)
				if f.Vacant = err == nil && !first && !last; err != nil {
					l.cluster.log.Debug("the table could not be searched for cells before the load", "file", f.Path, "error", err)
				}
				return nil
			})
		}
	}
	_ = g.Wait()
}
