package objectstore

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"bulkload/pkg/setting"
)

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
