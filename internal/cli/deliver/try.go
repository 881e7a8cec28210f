package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"bulkload/internal/base/retry"
)

const (
	// Tries is how often a message is sent at most.
	Tries = 3
	// Timeout bounds one try.
	Timeout = 10 * time.Second
	// pause is the time before the second try; it doubles.
	pause = 500 * time.Millisecond
	// maxText is how much of an answer's text an error repeats, in bytes.
	maxText = 300
)

// Client sends a message once. Its connections are closed after each answer, since a next message may be hours away.
func Client() *http.Client {
	return &http.Client{Timeout: Timeout, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: Timeout, ResponseHeaderTimeout: Timeout,
	}}
}

// final marks an error that another try would meet again.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Check returns the error that an answer stands for, with the first words of its text; nil for those from 200 to 299. It closes
// the answer's body unless it returns nil.
func Check(answer *http.Response) error {
	code := answer.StatusCode
	if code/100 == 2 {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxText)) // what there is of it
	_ = answer.Body.Close()
	err := fmt.Errorf("it answered %d %s: %q", code, http.StatusText(code), bytes.TrimSpace(text))
	if code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code/100 == 5 {
		return err
	}
	return final{err}
}

// Try calls send until it succeeds, up to tries times, with pauses between. The error is the last, without the addresses
// that package net/http puts into it.
func Try(ctx context.Context, tries int, send func(context.Context) error) error {
	pauses := retry.Policy{First: pause, Most: Timeout}
	for n := 1; ; n++ {
		err := bare(send(ctx))
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[final](err); ok || n >= tries || ctx.Err() != nil {
			return fmt.Errorf("try %d: %w", n, err)
		}
		if pauses.Sleep(ctx, n) != nil {
			return fmt.Errorf("try %d: %w", n, err)
		}
	}
}

// bare takes the request's address, which may reveal secrets in its query, from an error of package net/http.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
