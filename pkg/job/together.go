package job

import (
	"context"
	"sync"
)

// together runs do once for each of n workers at the same time. The first
// error cancels the others' context, and is returned.
func together(ctx context.Context, n int, do func(ctx context.Context, worker int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
