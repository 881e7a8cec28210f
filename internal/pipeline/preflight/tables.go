package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
)

// RunTables is [Run] for all tables of a job. A finding about a further table names the table; a repeated finding is
// omitted.
func RunTables(ctx context.Context, env *cluster.Env, s spec.Job, o Options) (*Report, error) {
	var all *Report
	started := time.Now()
	said := map[string]bool{}
	for _, t := range s.Targets() {
		r, err := Run(ctx, env, t.Job, o)
		if err != nil {
			return nil, err
		}
		first := all == nil
		if first {
			all = &Report{Schema: r.Schema, Table: r.Table}
		}
		for _, line := range r.Grants {
			if !slices.Contains(all.Grants, line) {
				all.Grants = append(all.Grants, line)
			}
		}
		for _, c := range r.Checks {
			finding := fmt.Sprint(c.Name, c.Severity, c.Message, c.Hint)
			if said[finding] {
				continue
			}
			said[finding] = true
			if !first {
				c.Message = setting.Textf("table %s: %s", r.Table, c.Message)
			}
			all.Checks = append(all.Checks, c)
			switch c.Severity {
			case SeverityError:
				all.Errors++
			case SeverityWarning:
				all.Warnings++
			}
		}
	}
	all.Elapsed = time.Since(started)
	return all, nil
}
