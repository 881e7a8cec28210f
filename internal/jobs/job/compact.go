package job

import (
	"context"
	"fmt"

	"bulkload/internal/hbase/cluster"
)

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
