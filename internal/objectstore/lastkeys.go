package objectstore

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// renewAgain is the pause after a renewal that failed while the last credentials are still valid.
	renewAgain = 10 * time.Second
	// lastUse is how long before their end credentials are used the last time.
	lastUse = 10 * time.Second
	// keysTime is the longest time for one look-up of credentials.
	keysTime = 30 * time.Second
)

// keysError reports credentials that could not be looked up or renewed for now. The request is repeated.
type keysError struct{ error }

func (e keysError) Unwrap() error { return e.error }

// sharedLookUp shares look-ups of credentials, which libraries make without a context. The zero value is ready for use.
type sharedLookUp[T any] struct{ running singleflight.Group }

// share returns the result of a look-up that is under way, or begins one. When ctx ends, share does not wait for it.
func (l *sharedLookUp[T]) share(ctx context.Context, look func() (T, error)) (v T, err error) {
	select {
	case r := <-l.running.DoChan("", func() (any, error) { return look() }):
		v, _ = r.Val.(T)
		return v, r.Err
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
}

// lastKeys keeps credentials until they expire: they are renewed before that, so a renewal that fails does no harm at first.
type lastKeys[T any] struct {
	mu    sync.Mutex
	value T
	until time.Time // when they expire; zero: unknown, or there were none
	again time.Time // when the next renewal is due after one that failed
}

// get returns the credentials from renew, or the last ones if renew fails and they are still valid.
func (l *lastKeys[T]) get(renew func() (v T, until time.Time, err error)) (T, error) {
	l.mu.Lock()
	v, again := l.value, l.again
	l.mu.Unlock()
	if time.Now().Before(again) {
		return v, nil
	}
	v, until, err := renew()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.value, l.until = v, until
		return v, nil
	}
	now, end := time.Now(), l.until.Add(-lastUse)
	if !now.Before(end) {
		return v, err
	}
	if l.again = now.Add(renewAgain); l.again.After(end) {
		l.again = end
	}
	return l.value, nil
}

func (l *lastKeys[T]) had() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.until.IsZero()
}

// passing reports whether a status means that the same request may succeed later.
func passing(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}
