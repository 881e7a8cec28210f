package verify

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestRowsReadAtATimeAreBoundByBytes checks that fewer large rows are read concurrently, and the first alone.
func TestRowsReadAtATimeAreBoundByBytes(t *testing.T) {
	r := newRowRoom()
	leave, _, err := r.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.room.TryAcquire(1) {
		t.Error("the first row is not alone")
	}
	leave(sampleRoom / 4)
	for i := range 4 {
		if _, _, err := r.enter(t.Context()); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if r.room.TryAcquire(1) {
		t.Error("five rows of a quarter of the room each")
	}
}

// TestRowsWaitForTheFirst checks that readers that arrive while the first row is read reserve the memory of a row of its size,
// and run concurrently.
func TestRowsWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, others := newRowRoom(), 5
		leave, _, err := r.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		in := make(chan error, others)
		for range others {
			go func() {
				_, _, err := r.enter(t.Context())
				in <- err
			}()
		}
		synctest.Wait()
		if len(in) > 0 {
			t.Errorf("%d are in besides the first", len(in))
		}
		leave(100)
		synctest.Wait()
		if len(in) != others {
			t.Errorf("%d are in at a time, want %d", len(in), others)
		}
		for range len(in) {
			if err := <-in; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRowsDoNotWaitWhenStopped checks that waiting for the first row ends with the caller's context.
func TestRowsDoNotWaitWhenStopped(t *testing.T) {
	r, why := newRowRoom(), errors.New("stopped by the test")
	if _, _, err := r.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, _, err := r.enter(ctx); !errors.Is(err, why) {
		t.Error(err)
	}
}
