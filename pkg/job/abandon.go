package job

import (
	"context"
	"errors"

	"bulkload/internal/cleanup"
	"bulkload/pkg/fail"
	"bulkload/pkg/partition/extsort"
)

// dropSpill removes sorted rows that are not needed any more.
func (j *run) dropSpill() {
	if err := j.st.Resume().DropSpill(); err != nil {
		j.o.Events.Warn("sorted rows are left behind", "path", j.st.Spill, "error", err)
	}
}

// abandon removes what a build has left that cannot continue: one without a
// journal, and one whose input or settings have to be changed first.
func (j *run) abandon(ctx context.Context, cause error) error {
	kind := fail.KindOf(cause)
	if j.st.Log == nil {
		return j.stage.Remove(ctx)
	}
	// Runs that are not complete, or not what they were, are useless.
	if j.st.Sorted == nil || len(j.st.Sorted.Runs) == 0 || errors.Is(cause, extsort.ErrCorrupt) {
		j.dropSpill()
	}
	if kind != fail.BadRows && kind != fail.Input && kind != fail.Config {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return j.st.Restart(ctx, j.env)
}
