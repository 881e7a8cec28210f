package job

import (
	"context"
	"errors"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/pkg/partition/extsort"
)

// abandon removes the results of a build that cannot be resumed: one without a
// journal, and one whose input or settings must be changed first.
func (j *run) abandon(ctx context.Context, cause error) error {
	kind := fail.KindOf(cause)
	if j.job.Log == nil {
		return j.stage.Remove(ctx)
	}
	// Incomplete or damaged runs are useless.
	if j.job.Sorted == nil || len(j.job.Sorted.Runs) == 0 || errors.Is(cause, extsort.ErrCorrupt) {
		j.job.EndSpill(j.options.Events)
	}
	if kind != fail.BadRows && kind != fail.Input && kind != fail.Config {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	err := j.job.Check(ctx)
	if err == nil {
		err = j.yarn().End(ctx) // the journal names an application until it has ended
	}
	if err == nil {
		err = j.job.Restart(ctx, j.env)
	}
	return err
}
