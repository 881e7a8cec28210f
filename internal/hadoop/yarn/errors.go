package yarn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// Errors on which callers decide.
var (
	// ErrUnknown is of an application, job, task or log that the servers do not know, or not yet: a ResourceManager forgets
	// applications, and the history server learns of a job shortly after its end.
	ErrUnknown = errors.New("the cluster does not know it")
	// ErrUnreachable says that no server answers as it should. A later call may succeed.
	ErrUnreachable = errors.New("no server answers")
	// ErrDenied is of a user without the right to do it.
	ErrDenied = errors.New("not permitted")
)

// An Error is an answer other than the one asked for.
type Error struct {
	URL    string // without a query
	Status int    // of HTTP, 0 when there was no answer
	Why    string // what the server says, shortened to one line; may be empty
	Err    error  // ErrUnknown, ErrUnreachable, ErrDenied, or what happened
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

// mostWhy bounds what an error says of an answer, in bytes.
const mostWhy = 300

// refusal makes the error of an answer that is no success.
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

// reason returns the message of Hadoop's RemoteException, or the first line of what else it may be. Pages say nothing.
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
	return printable(text, mostWhy)
}

// printable is text without control characters, of so many bytes at most.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
