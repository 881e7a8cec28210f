package job

import (
	"context"
	"time"
)

const (
	// partingTime bounds what is done at an end: to remove what is not wanted, to write down how it ended.
	partingTime = 30 * time.Second
	// stoppedTime is that after a stop. A load may have gone on for 8 s before it ([loader.Config].LoadGrace), and a file's
	// removal takes up to 4 s, so that all is over well within 15 s of the signal.
	stoppedTime = 4 * time.Second
)

// parting is the context of what is done at an end, which has a time of its own.
func parting(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := partingTime
	if ctx.Err() != nil {
		limit = stoppedTime
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
