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
	// Tries is the greatest number of attempts to send a message.
	Tries = 3
	// Timeout is the time limit of one attempt.
	Timeout = 10 * time.Second
	// pause is the time before the second attempt; it doubles with each further one.
	pause = 500 * time.Millisecond
	// maxText is the length in bytes of the part of a response's text that an error repeats.
	maxText = 300
)

// Client returns a client for one message. It closes its connection after each response, since the next message may
// be hours away.
func Client() *http.Client {
	return &http.Client{Timeout: Timeout, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: Timeout, ResponseHeaderTimeout: Timeout,
	}}
}

// final marks an error that a retry would not avoid.
type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Do sends a request. A response that reports a failure is an error.
func Do(client *http.Client, r *http.Request) (*http.Response, error) {
	answer, err := client.Do(r)
	if err == nil {
		err = check(answer)
	}
	return answer, err
}

// check returns the error of a response, with the beginning of its text. It returns nil for the status codes 200 to 299;
// otherwise it closes the response body.
func check(answer *http.Response) error {
	code := answer.StatusCode
	if code/100 == 2 {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxText)) // as much as can be read
	_ = answer.Body.Close()
	err := fmt.Errorf("it answered %d %s: %q", code, http.StatusText(code), bytes.TrimSpace(text))
	if code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code/100 == 5 {
		return err
	}
	return final{err}
}

// Try calls send until it succeeds, at most tries times, with pauses between the attempts. It returns the last error,
// without the address that package net/http adds.
func Try(ctx context.Context, tries int, send func(context.Context) error) error {
	pauses := retry.Policy{First: pause, Most: Timeout}
	for n := 1; ; n++ {
		err := bare(send(ctx))
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[final](err); ok || n >= tries || ctx.Err() != nil || pauses.Sleep(ctx, n) != nil {
			return fmt.Errorf("try %d: %w", n, err)
		}
	}
}

// bare removes the request's address, whose query may hold secrets, from an error of package net/http.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
