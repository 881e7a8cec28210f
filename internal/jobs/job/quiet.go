package job

import (
	"context"
	"fmt"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/loader"
)

// keepQuiet switches off splits, merges and normalization of the job's tables, if requested.
func (j *run) keepQuiet(ctx context.Context) error {
	if !j.options.Quiet {
		return nil
	}
	names := []loader.TableName{j.facts.Name}
	for _, t := range j.targets[min(1, len(j.targets)):] {
		names = append(names, t.facts.Name)
	}
	s, err := j.cluster.Status(ctx)
	if err != nil {
		return cluster.Failure(err)
	}
	for _, name := range names {
		if !keepsOpen(s.Version) {
			j.options.Events.Note("this version of HBase may open all regions of the table again, now and at the end", "table", name, "version", s.Version)
		}
		if err := j.job.KeepQuiet(ctx, j.cluster, name); err != nil {
			return err
		}
		j.options.Events.Note("splits, merges and normalization are switched off until the job ends", "table", name)
	}
	return nil
}

// giveBack restores the tables before the job is done.
func (j *run) giveBack(ctx context.Context) error {
	j.job.GiveBackTables(ctx, j.cluster, j.options.Events)
	return nil
}

// keepsOpen reports whether a version of HBase is known to change a table without reopening its regions.
func keepsOpen(version string) bool {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return false
	}
	return major > 2 || major == 2 && (minor > 5 || minor == 5 && patch >= 13)
}

// Compactions that a job requests after loading a table.
const (
	compactMinor = "minor"
	compactMajor = "major"
)

// compactLoaded requests compactions of the families of a loaded table, if the options do. Region servers run them asynchronously. Since the load is
// done, a failure is only a warning.
func (j *run) compactLoaded(ctx context.Context, table *cluster.Facts) error {
	how, e := j.options.CompactAfter, j.options.Events
	if how != compactMinor && how != compactMajor {
		return nil
	}
	regions, err := j.cluster.Regions(ctx, table.Name)
	asked := 0
	for _, r := range regions {
		for _, f := range table.Families {
			if one := j.cluster.Compact(ctx, r, f.Name, how == compactMajor); one != nil {
				err = one
				continue
			}
			asked++
		}
	}
	if err != nil {
		e.Warn("compactions were not asked for everywhere", "table", table.Name, "stores", asked, "error", err, "hint", fmt.Sprintf("hbase shell: %s '%s'", map[string]string{compactMinor: "compact", compactMajor: "major_compact"}[how], table.Name))
		return nil
	}
	e.Note("compactions are asked for", "table", table.Name, "kind", how, "stores", asked)
	return nil
}
