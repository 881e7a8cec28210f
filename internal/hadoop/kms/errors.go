package kms

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Errors that a caller decides on. Others are of servers that do not answer, or not as a KMS: they may do so later.
var (
	// ErrDenied is of a user who may not use a key.
	ErrDenied = errors.New("the KMS denies the key")
	// ErrNoKey is of a key, or a version of it, that the KMS does not have.
	ErrNoKey = errors.New("the KMS does not have the key")
	// ErrLogin is of a caller whom the KMS does not know: no ticket, or a token that has expired.
	ErrLogin = errors.New("the KMS does not accept the login")
)

// Error is a refusal of a KMS.
type Error struct {
	Server string // its URL
	Status int    // of HTTP
	Text   string // what it says, one line
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

// Final reports whether an error is a decision, which the same request meets again.
func Final(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrLogin)
}

// refusal reads the answer to a request that failed (HttpExceptionUtils, Hadoop 3.4). The status 403 alone does not say whether
// the key or the login is refused: the exception does.
func refusal(server string, status int, body []byte) error {
	var a struct {
		RemoteException struct{ Message, Exception string }
	}
	_ = json.Unmarshal(body, &a) // an answer of another form has no exception
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
	if e.Text == "" {
		e.Text = "no reason"
	}
	return e
}
