package workers

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestEach checks that each number is taken once, whatever the number of workers, and that an error or the end of the
// context ends all.
func TestEach(t *testing.T) {
	for _, n := range []int{1, 3, 20} {
		for _, count := range []int{0, 1, 7} {
			times := make([]atomic.Int32, count)
			if err := Each(t.Context(), n, count, func(_ context.Context, i int) error { times[i].Add(1); return nil }); err != nil {
				t.Fatal(err)
			}
			for i := range times {
				if got := times[i].Load(); got != 1 {
					t.Errorf("%d workers took number %d of %d %d times", n, i, count, got)
				}
			}
		}
	}
	wrong, last := errors.New("wrong"), 0
	err := Each(t.Context(), 1, 9, func(_ context.Context, i int) error {
		if last = i; i == 4 {
			return wrong
		}
		return nil
	})
	if !errors.Is(err, wrong) || last != 4 {
		t.Errorf("%v after number %d", err, last)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Each(ended, 2, 9, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestAwait checks that Await returns a result, and does not wait for one after its context has ended.
func TestAwait(t *testing.T) {
	wrong, why := errors.New("wrong"), errors.New("stopped")
	if v, err := Await(t.Context(), func() (int, error) { return 7, wrong }); v != 7 || err != wrong {
		t.Errorf("%d, %v", v, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	hangs, ended := make(chan struct{}), make(chan struct{})
	v, err := Await(ctx, func() (int, error) {
		defer close(ended)
		cancel(why)
		<-hangs
		return 7, nil
	})
	if v != 0 || err != why {
		t.Errorf("%d, %v after the end of the context", v, err)
	}
	close(hangs)
	<-ended
}
