package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep waits just so long, and no longer than its context lasts.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		why := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		began = time.Now()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, why) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
