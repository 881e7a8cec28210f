package main

import (
	"context"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"

	"github.com/spf13/pflag"
)

// splitFlags say whether a run is one job or several.
type splitFlags struct {
	by string
}

func (s *splitFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"split-by": &s.by})
}

// runner is the function that does the run.
func (s *splitFlags) runner() func(context.Context, *cluster.Env, spec.Job, job.RunOptions) (*result.Result, error) {
	if s.by == "directory" {
		return job.RunParts
	}
	return job.Run
}
