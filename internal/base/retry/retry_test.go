package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep checks that Sleep waits exactly as long as requested, and ends with its context.
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

// TestNext checks that waits double up to the longest one, whatever the number of tries, and that Next reports when it
// is too late.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{First: 250 * time.Millisecond, Most: 10 * time.Second}
		for tries, want := range map[int]time.Duration{0: p.First, 1: p.First, 2: 500 * time.Millisecond, 6: 8 * time.Second, 7: p.Most, 1 << 20: p.Most} {
			if got, again := p.Next(time.Now(), tries); got != want || !again {
				t.Errorf("after %d tries: %s, %t, want %s", tries, got, again, want)
			}
		}
		if got, _ := (Policy{First: time.Second}).Next(time.Now(), 9); got != time.Second {
			t.Errorf("without a longest wait: %s", got)
		}
		p.For = 3 * time.Second
		began := time.Now()
		for _, c := range []struct {
			after time.Duration
			tries int
			again bool
		}{{0, 4, true}, {time.Second, 4, true}, {time.Second + 1, 4, false}, {0, 5, false}} {
			if _, again := p.Next(began.Add(-c.after), c.tries); again != c.again {
				t.Errorf("%s after the first try, %d tries: %t", c.after, c.tries, again)
			}
		}
		p = Policy{First: time.Second, Most: time.Minute, Jitter: true}
		for range 1000 {
			if got, _ := p.Next(began, 3); got < 4*time.Second || got >= 6*time.Second {
				t.Fatalf("%s is not between 4 s and 6 s", got)
			}
		}
		if err := (Policy{First: time.Second, Most: time.Minute, For: 1}).Sleep(t.Context(), 3); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
