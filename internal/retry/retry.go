// Package retry waits between two tries.
package retry

import (
	"context"
	"time"
)

// Sleep waits for d, or returns the cause of the context's end.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
