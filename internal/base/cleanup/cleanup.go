// Package cleanup bounds what is done when a job ends, also after its context was
// cancelled: removing files, recording how it ended. It is a small leaf of its own:
// all that has jobs shares it.
package cleanup

import (
	"context"
	"time"
)

const (
	// normalTime bounds what is done at an end: to remove what is not wanted, to write down how it ended.
	normalTime = 30 * time.Second
	// cancelledTime is that after a stop. A load may have continued for 8 s before it ([loader.Config].LoadGrace), and a file's
	// removal takes up to 4 s, so that all is over well within 15 s of the signal.
	cancelledTime = 4 * time.Second
)

// Context returns the context of work at an end, which has its own timeout.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := normalTime
	if ctx.Err() != nil {
		limit = cancelledTime
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
