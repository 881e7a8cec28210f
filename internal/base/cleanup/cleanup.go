// Package cleanup limits the time of the work at the end of a job, also after its context
// was cancelled: removing files, recording the outcome. It is a small leaf of its own:
// all packages with jobs share it.
package cleanup

import (
	"context"
	"time"
)

const (
	// normalTime is the limit for work at the end of a job: removing files, recording the outcome.
	normalTime = 30 * time.Second
	// cancelledTime is the limit after a stop. A load may have continued for 8 s before it ([loader.Config].LoadGrace), and removing a
	// file takes up to 4 s, so the process ends well within 15 s of the signal.
	cancelledTime = 4 * time.Second
)

// Context returns the context of work at the end of a job: it is not cancelled with ctx, and has its own timeout.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := normalTime
	if ctx.Err() != nil {
		limit = cancelledTime
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
