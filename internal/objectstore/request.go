package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/pkg/setting"
)

// patience holds the limits of a request. Tests use shorter ones.
type patience struct {
	retry.Policy
	tries  int           // of one request
	first  int           // of one request while the store has not answered any, so that a wrong address fails soon
	silent time.Duration // the longest time without bytes of a body
}

func usualPatience() patience {
	return patience{Policy: retry.Policy{First: 50 * time.Millisecond, Most: 8 * time.Second, Jitter: true}, tries: 11, first: 3, silent: 30 * time.Second}
}

// newTransport returns a transport that uses HTTP/1.1 only: ranges that are read concurrently then have separate flow-control windows. It does not
// decompress bodies: an object's bytes are those that are stored.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   128,
		DisableCompression:    true,
		ReadBufferSize:        64 << 10,
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

// request is a request that is not signed yet.
type request struct {
	method string
	url    *url.URL
	header http.Header
	what   string // in messages: the bucket or the object
	action string // the permission that it needs
	from   int64  // the first requested byte of the object
}

// answer is the error of a request that a server answered with a failure.
type answer struct {
	status int
	code   string        // of the provider, such as SlowDown
	region string        // the bucket's, if it is not the one that was asked
	skew   time.Duration // the server's clock minus this one, 0 if the answer has no date
}

func (a *answer) Error() string {
	if a.code != "" {
		return fmt.Sprintf("it answered %d (%s)", a.status, setting.Shorten(a.code, 40))
	}
	return fmt.Sprintf("it answered %d", a.status)
}

// transient reports whether the same request may succeed later.
func (a *answer) transient() bool {
	switch a.code {
	case "RequestTimeout", "SlowDown", "Throttling", "InternalError", "ServerBusy", "OperationTimedOut", "IncompleteBody", "rateLimitExceeded", "userRateLimitExceeded":
		return true
	}
	return passing(a.status) && a.status != http.StatusNotImplemented
}

// shortError reports a body that ended too early.
type shortError struct{ have, want int64 }

func (e *shortError) Error() string {
	return fmt.Sprintf("it sent %d of %d bytes", e.have, e.want)
}

// do sends a request about the bucket or an object, what, until use returns no error, the error is final, or the tries are used up; a try that
// received bytes restarts the count. use may be called several times: it continues where it stopped. do does not wait after the first lost connection,
// which is not a sign of an overloaded store.
func (s *Store) do(ctx context.Context, what string, r func() *request, use func(*http.Response) error) error {
	redirected, lost, from := false, false, int64(0)
	for try := 1; ; try++ {
		q := r()
		q.what = what
		if q.from > from {
			from, try = q.from, 1 // some bytes were received
		}
		err := s.once(ctx, q, use)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a, answered := errors.AsType[*answer](err)
		if answered && a.region != "" && !redirected && s.protocol.redirect(a.region) {
			redirected = true
			continue
		}
		most := s.patience.tries
		if _, keys := errors.AsType[keysError](err); !keys && !s.answered.Load() {
			most = s.patience.first
		}
		if final(err) || answered && !a.transient() {
			return s.explain(q, err)
		}
		if try >= most {
			return &OutOfReachError{s.explain(q, err)}
		}
		s.log.Warn("a request to an object store is repeated", "object", q.what, "offset", q.from, "try", try, "error", bare(err))
		if !answered && !lost && s.answered.Load() {
			lost = true
			continue
		}
		if err := s.patience.Sleep(ctx, try); err != nil {
			return err
		}
	}
}

// once sends a request once.
func (s *Store) once(ctx context.Context, q *request, use func(*http.Response) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := *q.url
	h := (&http.Request{Method: q.method, URL: &u, Header: q.header.Clone(), Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	h.Header.Set("User-Agent", "bulkload")
	h, err := s.protocol.sign(ctx, h)
	if err != nil {
		return err
	}
	sent := time.Now()
	resp, err := s.transport.RoundTrip(h) // does not follow redirects, which would send signatures elsewhere
	if err != nil {
		return err
	}
	s.answered.Store(true)
	resp.Body = &watched{ReadCloser: resp.Body, silent: s.patience.silent, cancel: cancel}
	defer resp.Body.Close() // drops the connection of a body that was not read to its end
	if resp.StatusCode/100 == 2 {
		return use(resp)
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	a := s.protocol.answer(resp, text)
	a.status = resp.StatusCode
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.skew = date.Sub(sent)
	}
	return a
}

// watched is a body that cancels its request if a read takes longer than silent.
type watched struct {
	io.ReadCloser
	silent time.Duration
	cancel context.CancelFunc
	ended  atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	t := time.AfterFunc(w.silent, func() {
		w.ended.Store(true)
		w.cancel()
	})
	n, err := w.ReadCloser.Read(p)
	t.Stop()
	if err != nil && w.ended.Load() {
		err = fmt.Errorf("nothing came for %s", w.silent)
	}
	return n, err
}

// bare returns an error without the URL of a request, which may contain a signature, and cuts it to one short line.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if text := err.Error(); strings.ContainsAny(text, "\r\n") || len(text) > 160 {
		first, _, _ := strings.Cut(strings.ReplaceAll(text, "\r", "\n"), "\n")
		return errors.New(setting.Shorten(first, 160))
	}
	return err
}

// unchanged makes a request conditional on the object's tag: the store refuses it if the tag has changed.
func (q *request) unchanged(o object) *request {
	if o.tag != "" {
		q.header.Set("If-Match", `"`+o.tag+`"`)
	}
	return q
}

// finalError is an error that is not retried.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func finalf(format string, args ...any) error { return finalError{fmt.Errorf(format, args...)} }

// ChangedError reports that an object has changed since it was listed.
type ChangedError struct {
	Object string
	What   string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since it was listed (%s): what was read of it cannot be used", e.Object, e.What)
}

// An OutOfReachError reports that a store did not answer, or was not in service, in any of the tries.
type OutOfReachError struct{ error }

func (e *OutOfReachError) Unwrap() error { return e.error }

func final(err error) bool {
	_, last := errors.AsType[finalError](err)
	_, changed := errors.AsType[*ChangedError](err)
	return last || changed || badCertificate(err)
}

func badCertificate(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, other := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return unknown || other || invalid
}

// maxSkew is the difference of clocks above which a denial is attributed to them.
const maxSkew = 5 * time.Minute

// explain returns an error that explains a failure and suggests a remedy.
func (s *Store) explain(q *request, err error) error {
	if _, ok := errors.AsType[*ChangedError](err); ok {
		return err
	}
	if f, ok := errors.AsType[finalError](err); ok {
		return fmt.Errorf("%s: %w", q.what, f.error)
	}
	a, ok := errors.AsType[*answer](err)
	if !ok {
		return s.unreachable(q, err)
	}
	switch who := s.protocol.credentialSource(); {
	case a.code == "NoSuchBucket" || a.code == "ContainerNotFound" || a.status == http.StatusNotFound && q.what == s.root:
		return setting.Errorf("%s does not exist at %s: see its name, and the address that %s gives", s.root, q.url.Host, setting.Endpoint)
	case a.status == http.StatusNotFound:
		return &fs.PathError{Op: "read", Path: q.what, Err: fs.ErrNotExist}
	case a.status == http.StatusPreconditionFailed || a.status == http.StatusRequestedRangeNotSatisfiable && q.from > 0:
		return &ChangedError{q.what, "the store has another one of this name"}
	case a.code == "InvalidObjectState" || a.code == "BlobArchived" || a.code == "BlobBeingRehydrated":
		return setting.Errorf("%s is archived: restore it in the store, then run again", q.what)
	case a.region != "" || a.status/100 == 3 || a.code == "AuthorizationHeaderMalformed":
		return setting.Errorf("%s is in region %s: give it in %s (%w)", s.root, setting.Shorten(cmp.Or(a.region, "unknown"), 40), setting.Endpoint, a)
	case a.code == "RequestTimeTooSkewed" || isDenial(a.status) && a.skew.Abs() > maxSkew:
		return setting.Errorf("%s: the clocks of this host and of the store differ by %s: set this host's (%w)", q.what, a.skew.Abs().Round(time.Second), a)
	case a.code == "ExpiredToken" || a.code == "TokenRefreshRequired" || a.code == "ExpiredTokenException":
		return setting.Errorf("%s: the credentials (%s) have expired: renew them (%w)", q.what, who, a)
	case a.status == http.StatusUnauthorized || refusedKeys[a.code]:
		return setting.Errorf("%s: the store does not accept the credentials (%s): see that they are of this store, and whole (%w)", q.what, who, a)
	case a.status == http.StatusForbidden && !a.transient():
		return setting.Errorf("%s: access denied: the credentials (%s) lack %s (%w)", q.what, who, q.action, a)
	}
	return fmt.Errorf("%s at %s: %w", q.what, q.url.Host, a)
}

var refusedKeys = map[string]bool{"InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "InvalidToken": true, "AuthenticationFailed": true, "InvalidAuthenticationInfo": true}

func isDenial(status int) bool {
	return status == http.StatusForbidden || status == http.StatusUnauthorized || status == http.StatusBadRequest
}

// unreachable returns the error for a request without an answer.
func (s *Store) unreachable(q *request, err error) error {
	if k, ok := errors.AsType[keysError](err); ok {
		return fmt.Errorf("%s: %w (see the network, then run again)", q.what, k.error)
	}
	what := fmt.Sprintf("%s at %s", q.what, q.url.Host)
	switch err := bare(err); {
	case badCertificate(err):
		return fmt.Errorf("%s: %w (have SSL_CERT_FILE name the authority's certificate)", what, err)
	case !s.answered.Load():
		return setting.Errorf("%s: %w (see the network, and the address that %s gives)", what, err, setting.Endpoint)
	default:
		return fmt.Errorf("%s: %w (see the network, then run again)", what, err)
	}
}
