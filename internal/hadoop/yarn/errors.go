package yarn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"bulkload/pkg/setting"
)

// Errors that callers handle.
var (
	// ErrUnknown reports an application, job, task or log that the servers do not know, or not yet: a ResourceManager
	// forgets applications, and the history server learns of a job shortly after its end.
	ErrUnknown = errors.New("the cluster does not know it")
	// ErrUnreachable means that no server answers correctly. A later call may succeed.
	ErrUnreachable = errors.New("no server answers")
	// ErrDenied means that the user does not have the permission.
	ErrDenied = errors.New("not permitted")
)

// An Error reports a failed request or an unexpected response.
type Error struct {
	URL    string // without a query
	Status int    // of HTTP, 0 without a response
	Why    string // the server's message, shortened to one line; may be empty
	Err    error  // ErrUnknown, ErrUnreachable, ErrDenied, or the cause
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.URL)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// maxWhy limits the part of a response that an error quotes, in bytes.
const maxWhy = 300

// refusal returns the error for an unsuccessful response.
func refusal(address string, status int, body []byte) *Error {
	e := &Error{URL: address, Status: status, Why: reason(body)}
	switch status {
	case http.StatusNotFound:
		e.Err = ErrUnknown
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Err = ErrDenied
	default:
		if status >= 500 || status == http.StatusTooManyRequests {
			e.Err = ErrUnreachable
		}
	}
	return e
}

// reason returns the message of Hadoop's RemoteException, or the first line of another text. For an HTML page it returns "".
func reason(body []byte) string {
	var remote struct {
		RemoteException struct{ Message string }
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &remote) == nil {
		text = remote.RemoteException.Message
	} else if strings.HasPrefix(text, "<") {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n")
	return printable(text, maxWhy)
}

// printable returns text without control characters, truncated to at most most bytes.
func printable(text string, most int) string {
	return setting.Shorten(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text), most)
}
