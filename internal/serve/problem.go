package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// problemPrefix is the prefix of the type of every problem. Types are part of the service's contract, since callers
// depend on them.
const problemPrefix = "urn:bulkload:problem:"

type kind struct {
	name   string
	title  string
	status int
	retry  int // seconds of Retry-After; 0: none
}

// The kinds of problems. docs/reading.md lists them, and a test compares the two lists.
var (
	badParameter    = kind{"parameter", "A parameter is wrong", http.StatusBadRequest, 0}
	badColumn       = kind{"column", "Column not available", http.StatusBadRequest, 0}
	badPage         = kind{"page", "The page token is not of this query", http.StatusBadRequest, 0}
	badQuery        = kind{"query", "The query cannot be answered", http.StatusBadRequest, 0}
	badBody         = kind{"body", "The request's body is wrong", http.StatusBadRequest, 0}
	unauthenticated = kind{"unauthenticated", "Authentication required", http.StatusUnauthorized, 0}
	forbidden       = kind{"forbidden", "The client may not read this", http.StatusForbidden, 0}
	foreign         = kind{"cross-origin", "The request is from a page of another site", http.StatusForbidden, 0}
	badHost         = kind{"host", "The service is not reached by this name", http.StatusForbidden, 0}
	noJob           = kind{"job", "There is no such job", http.StatusNotFound, 0}
	noState         = kind{"state", "There is no such job here", http.StatusNotFound, 0}
	noPath          = kind{"path", "There is nothing here", http.StatusNotFound, 0}
	badMethod       = kind{"method", "The method is not allowed here", http.StatusMethodNotAllowed, 0}
	refused         = kind{"refused", "This cannot be done about the job from here", http.StatusConflict, 0}
	tooLarge        = kind{"request-too-large", "The request is too large", http.StatusRequestEntityTooLarge, 0}
	answerTooLarge  = kind{"answer-too-large", "A row is larger than an answer may be", http.StatusRequestEntityTooLarge, 0}
	badMedia        = kind{"media-type", "The body is not JSON", http.StatusUnsupportedMediaType, 0}
	tooManyRequests = kind{"too-many-requests", "Too many requests", http.StatusTooManyRequests, 1}
	internalError   = kind{"internal", "The service failed", http.StatusInternalServerError, 0}
	overloaded      = kind{"overloaded", "No memory is left for the answer", http.StatusServiceUnavailable, 1}
	unavailable     = kind{"unavailable", "HBase is out of reach", http.StatusServiceUnavailable, 2}
	stateAway       = kind{"state-away", "The state of the jobs is out of reach", http.StatusServiceUnavailable, 5}
	noTable         = kind{"table-missing", "The table does not exist", http.StatusServiceUnavailable, 10}
	tableDisabled   = kind{"table-disabled", "The table is not in service", http.StatusServiceUnavailable, 10}
	tableChanged    = kind{"table-changed", "The table is not what it was", http.StatusServiceUnavailable, 10}
	tableUnfit      = kind{"table-unfit", "The table cannot be read", http.StatusServiceUnavailable, 10}
	timedOut        = kind{"deadline", "The answer was not ready in time", http.StatusGatewayTimeout, 1}
)

func kinds() []kind {
	return []kind{badParameter, badColumn, badPage, badQuery, badBody, unauthenticated, forbidden, foreign, badHost, noJob, noState, noPath, badMethod, refused, tooLarge, answerTooLarge, badMedia,
		tooManyRequests, internalError, overloaded, unavailable, stateAway, noTable, tableDisabled, tableChanged, tableUnfit, timedOut}
}

// Problem is an error as application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Parameter is the name of the wrong parameter, if there is one.
	Parameter string `json:"parameter,omitempty"`

	retry int
}

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

func problem(k kind, format string, args ...any) *Problem {
	return &Problem{Type: problemPrefix + k.name, Title: k.title, Status: k.status, Detail: fmt.Sprintf(format, args...), retry: k.retry}
}

// withParameter sets the parameter of a problem, cut to a reasonable length.
func (p *Problem) withParameter(parameter string) *Problem {
	const most = 100
	if len(parameter) > most {
		parameter = parameter[:most]
	}
	p.Parameter = parameter
	return p
}

func (p *Problem) is(k kind) bool { return p.Type == problemPrefix+k.name }

func (p *Problem) write(w http.ResponseWriter) {
	b, err := json.Marshal(p)
	if err != nil { // impossible for strings and a number
		b = []byte("{}")
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retry))
	}
	send(w, p.Status, "application/problem+json", b)
}
