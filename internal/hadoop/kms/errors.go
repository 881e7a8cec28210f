package kms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Errors that callers handle. Other errors are from servers that do not answer, or not like a KMS: a later request may succeed.
var (
	// ErrDenied means that the user may not use the key.
	ErrDenied = errors.New("the KMS denies the key")
	// ErrNoKey means that the KMS does not have the key or its version.
	ErrNoKey = errors.New("the KMS does not have the key")
	// ErrLogin means that the KMS does not accept the caller: no ticket, or an expired token.
	ErrLogin = errors.New("the KMS does not accept the login")
	// ErrServer means that the certificates of all servers are refused.
	ErrServer = errors.New("the KMS is not verified")
)

// Error is a KMS's refusal.
type Error struct {
	Server string // its URL
	Status int    // of HTTP
	Text   string // its message, one line
	Err    error  // ErrDenied, ErrNoKey, ErrLogin, or nil
}

func (e *Error) Error() string {
	text := fmt.Sprintf("KMS %s answers %d: %s", e.Server, e.Status, e.Text)
	if e.Err == nil {
		return text
	}
	return e.Err.Error() + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// Final reports whether an error is permanent for the same request.
func Final(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrLogin) || errors.Is(err, ErrServer)
}

// refusal parses the response to a failed request (HttpExceptionUtils, Hadoop 3.4). The status 403 does not show whether the
// key or the login is refused; the exception does.
func refusal(server string, status int, body []byte) error {
	var a struct {
		RemoteException struct{ Message, Exception string }
	}
	_ = json.Unmarshal(body, &a) // a response in another format has no exception
	r := a.RemoteException
	line, _, _ := strings.Cut(strings.TrimSpace(r.Message), "\n")
	e := &Error{Server: server, Status: status, Text: strings.TrimSpace(r.Exception + " " + line)}
	switch {
	case status == 401, r.Exception == "AuthenticationException":
		e.Err = ErrLogin
	case r.Exception == "AuthorizationException", r.Exception == "AccessControlException", status == 403:
		e.Err = ErrDenied
	case status == 404, status == 400 && (r.Exception == "IllegalArgumentException" || strings.Contains(line, "not found")):
		e.Err = ErrNoKey
	}
	e.Text = cmp.Or(e.Text, "no reason")
	return e
}
