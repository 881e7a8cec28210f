package loader

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"

	"golang.org/x/sync/errgroup"
)

// check finds errors before any request that changes something is sent to the servers.
func (l *load) check(ctx context.Context) error {
	table, err := l.cluster.Describe(ctx, l.req.Table)
	if err != nil {
		return err
	}
	if err := l.fits(table); err != nil {
		return err
	}
	if err := l.chooseWay(table); err != nil {
		return err
	}
	if l.direct {
		l.mover = l.actor(ctx)
		if err := l.checkDirs(ctx); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(statsInFlight)
	for i := range l.files {
		if f := &l.files[i]; !l.sent[f.Path] {
			g.Go(func() error { return l.checkFile(ctx, f) })
		}
	}
	return g.Wait()
}

// fits checks that the table accepts loads and has all families of the files.
func (l *load) fits(table *Table) error {
	if err := checkState(table); err != nil {
		return err
	}
	unknown := map[string]bool{}
	for _, f := range l.req.Files {
		if _, ok := table.Family(f.Family); !ok {
			unknown[f.Family] = true
		}
	}
	if len(unknown) > 0 {
		return &FamilyError{Table: table.Name, Unknown: slices.Sorted(maps.Keys(unknown)), Families: table.FamilyNames()}
	}
	return nil
}

// checkState checks that the table accepts loads.
func checkState(table *Table) error {
	switch {
	case table.State != Enabled:
		return &StateError{Table: table.Name, State: table.State, Reason: setting.Textf("is %s: enable it first", table.State)}
	case table.ReadOnly:
		return &StateError{Table: table.Name, State: table.State, Reason: setting.Plain("is read-only (READONLY => true)")}
	}
	return nil
}

// checkDirs checks that HBase's user may move files out of their directories, which a direct load needs.
func (l *load) checkDirs(ctx context.Context) error {
	seen := map[string]bool{}
	for _, f := range l.files {
		dir := path.Dir(fsPath(f.Path))
		if seen[dir] {
			continue
		}
		seen[dir] = true
		info, err := l.req.FS.Stat(ctx, dir)
		if err != nil {
			return fmt.Errorf("load %s: %w", f.Path, err)
		}
		if denied(info, l.mover, mayChange) {
			return fmt.Errorf("load %s: a direct load moves it as HBase's user: %s", f.Path, complain(info, dir, l.mover, "changed", "0777"))
		}
	}
	return nil
}

// chooseWay chooses between a staged and a direct load.
func (l *load) chooseWay(table *Table) error {
	l.direct = l.req.Stage == StageDirect
	for _, f := range l.req.Files {
		family, _ := table.Family(f.Family)
		// With the FILE tracker the server renames into the store as the requesting user, without permission for that.
		if tracker := table.FileTracker(family); !strings.EqualFold(tracker, "DEFAULT") {
			if l.req.Stage == StageToken {
				return &StateError{Table: table.Name, Reason: setting.Textf("keeps its store files by the tracker %s in family %s, which loads through a staging directory do not work with: load directly (%s direct)", tracker, family.Name, setting.LoadMode)}
			}
			l.direct, l.tracked[f.Family] = true, true
		}
	}
	return nil
}

// checkFile checks that a file exists and is as expected, and records its file ID.
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
		return fmt.Errorf("load %s: it has %s, not %d", f.Path, setting.Count(info.Size(), "byte"), f.Size)
	case f.FileID != 0 && id != f.FileID:
		return fmt.Errorf("load %s: it is another file than the one that was written (file id %d, not %d)", f.Path, id, f.FileID)
	case l.direct && denied(info, l.mover, mayReadWrite):
		return fmt.Errorf("load %s: a direct load leaves it to HBase's user: %s", f.Path, complain(info, fsPath(f.Path), l.mover, "read and written", "0666"))
	}
	f.FileID = id
	return nil
}

// statsInFlight is the number of files that are checked at a time.
const statsInFlight = 8
