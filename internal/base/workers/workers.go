// Package workers runs the same work on several goroutines, or work that cannot be stopped on one of its own. It is a small leaf of its own: packages
// of many floors share it.
package workers

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Run runs do once for each of n workers at the same time. The first error
// cancels the context of the others, and is returned. If ctx ends meanwhile, Run
// returns its cause, even if no worker returns an error.
func Run(ctx context.Context, n int, do func(ctx context.Context, worker int) error) error {
	g, each := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return do(each, i) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Each runs do once for each number below count, started in ascending order, on up to n goroutines. Its error is that of [Run].
func Each(ctx context.Context, n, count int, do func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	return Run(ctx, min(n, count), func(ctx context.Context, _ int) error {
		for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			if err := do(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Await calls do, which cannot be stopped, and returns its results, or the cause of ctx if ctx ends first: do then ends later, and its results are lost.
func Await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := do()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}
