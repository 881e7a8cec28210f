package loader

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/setting"
)

// group is the files to load into one region.
type group struct {
	region   Region
	files    []HFile
	attempts int
	called   bool            // the server was called in this round, and may have acted
	fs       *kerberos.Token // with which the server takes the files as the user, nil without security
	failure  string          // the kind of the last attempt's failure (failureKind)
	same     int             // how many attempts in a row failed in this way
}

// arrange groups files by the region that holds them, in the order of the regions. It cuts a file that spans several regions at all
// boundaries at once, and merges files that exceed the limit per region and family.
func (l *load) arrange(ctx context.Context, regions []Region, files []HFile) ([]group, error) {
	var whole []HFile
	for _, f := range files {
		parts, err := l.fit(ctx, regions, f)
		if err != nil {
			return nil, err
		}
		whole = append(whole, parts...)
	}
	groups, err := assign(l.req.Table, regions, whole)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		if err := l.fewer(ctx, &groups[i]); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// fit returns the file if it is in one region, else its parts.
func (l *load) fit(ctx context.Context, regions []Region, f HFile) ([]HFile, error) {
	first := find(regions, f.First)
	if regions[first].before(f.Last) {
		return []HFile{f}, nil
	}
	if l.req.Rewriter == nil {
		return nil, &MisfitError{Table: l.req.Table, File: f, Region: regions[first]}
	}
	var at [][]byte
	for _, r := range regions[first+1 : find(regions, f.Last)+1] {
		at = append(at, r.Start)
	}
	children, err := l.req.Rewriter.Cut(ctx, f, at)
	if err != nil {
		return nil, err
	}
	if err := l.identify(ctx, children); err != nil {
		return nil, err
	}
	l.cluster.log.Info("file cut at region boundaries", "file", f.Path, "parts", len(children))
	l.replace([]HFile{f}, children)
	return children, notifyPair(l, l.req.Events.OnCut, f, children)
}

// fewer merges the files of a family if they exceed the limit per region.
func (l *load) fewer(ctx context.Context, g *group) error {
	byFamily := map[string][]HFile{}
	for _, f := range g.files {
		byFamily[f.Family] = append(byFamily[f.Family], f)
	}
	for family, files := range byFamily {
		if len(files) <= l.req.MaxFiles {
			continue
		}
		if l.req.Rewriter == nil {
			return fmt.Errorf("region %s of table %s would get %s in family %s, more than %d: merge them, or split the region first",
				g.region, l.req.Table, setting.Count(len(files), "file"), family, l.req.MaxFiles)
		}
		merged, err := l.req.Rewriter.Merge(ctx, files)
		if err != nil {
			return err
		}
		one := []HFile{merged}
		if err := l.identify(ctx, one); err != nil {
			return err
		}
		merged = one[0]
		l.cluster.log.Info("files merged, a region would have had too many", "region", g.region.Encoded, "family", family, "files", len(files))
		l.replace(files, []HFile{merged})
		if err := notifyPair(l, l.req.Events.OnMerged, files, merged); err != nil {
			return err
		}
		g.files = append(slices.DeleteFunc(g.files, func(f HFile) bool { return f.Family == family }), merged)
	}
	return nil
}

// identify looks up the file IDs of new files for which the rewriter set none.
func (l *load) identify(ctx context.Context, files []HFile) error {
	for i := range files {
		if files[i].FileID != 0 {
			continue
		}
		info, err := l.req.FS.Stat(ctx, fsPath(files[i].Path))
		if err != nil {
			return fmt.Errorf("load %s: %w", files[i].Path, err)
		}
		files[i].FileID, _ = hdfsio.FileID(info)
	}
	return nil
}

// regroup groups the files of unloaded groups again, by the current regions. A group inherits the attempts of the groups that its files come
// from, and their failures if its region is still the same.
func (l *load) regroup(ctx context.Context, regions []Region, back []group) ([]group, error) {
	var files []HFile
	for _, g := range back {
		files = append(files, g.files...)
	}
	groups, err := l.arrange(ctx, regions, files)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		g := &groups[i]
		for _, old := range back {
			if g.region.Contains(old.region.Start) || old.region.Contains(g.region.Start) {
				g.attempts = max(g.attempts, old.attempts)
			}
			if bytes.Equal(g.region.Name, old.region.Name) {
				g.failure, g.same = old.failure, old.same
			}
		}
	}
	return groups, nil
}

// replace substitutes files for others in the load's records.
func (l *load) replace(old, files []HFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range old {
		delete(l.place, f.Path)
	}
	for _, f := range files {
		l.place[f.Path] = PlaceSource
	}
}

// assign groups files by the region that holds them, in the order of the regions.
func assign(table TableName, regions []Region, files []HFile) ([]group, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b HFile) int { return bytes.Compare(a.First, b.First) })
	var groups []group
	for _, f := range files {
		r := regions[find(regions, f.First)]
		if !r.before(f.Last) {
			return nil, &MisfitError{Table: table, File: f, Region: r}
		}
		if n := len(groups); n == 0 || !bytes.Equal(groups[n-1].region.Start, r.Start) {
			groups = append(groups, group{region: r})
		}
		g := &groups[len(groups)-1]
		g.files = append(g.files, f)
	}
	return groups, nil
}
