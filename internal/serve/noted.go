package serve

import (
	"cmp"
	"net/http"
	"time"
)

// noted collects data about a request for its log lines and for metrics.
type noted struct {
	id      string
	route   string // the pattern, never the path or the query
	caller  *caller
	job     string
	state   string // job of the console: for the audit log only
	action  string // likewise
	problem string
	rows    int
	gone    bool // the caller has closed the connection

	wait, read, encode time.Duration // waiting for a place; reading rows, including encoding; encoding

	keys  [][]string        // query keys, or the bounds of a scan: for the audit log only
	about map[string]string // fields in which the old service's callers identify themselves
}

type notedKey struct{}

func note(r *http.Request) *noted {
	if n, ok := r.Context().Value(notedKey{}).(*noted); ok {
		return n
	}
	return &noted{caller: &caller{}}
}

// sentWriter records the status and the number of bytes of a response.
type sentWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *sentWriter) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *sentWriter) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *sentWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// headerOnly keeps the status and the header of a response and discards the body.
type headerOnly struct {
	header http.Header
	status int
}

func (w *headerOnly) Header() http.Header         { return w.header }
func (w *headerOnly) WriteHeader(status int)      { w.status = status }
func (w *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
