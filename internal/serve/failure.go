package serve

import (
	"context"
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/serve/query"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
)

// errDeadline is the cause of a context that ends at the request's deadline.
var errDeadline = errors.New("the deadline of the request is over")

// failure returns the problem for a failed read. ctx is the context of the read. Details of HBase's errors go to the
// log, not to callers.
func failure(ctx context.Context, err error) *Problem {
	if p := asProblem(err); p != nil {
		return p
	}
	if _, ok := errors.AsType[*query.PageError](err); ok {
		return problem(badPage, "the token is invalid, or belongs to another job file, key, range or number of salts; begin with the first page").withParameter("page")
	}
	switch {
	case errors.Is(err, context.Canceled):
		return problem(timedOut, "the request was given up")
	case errors.Is(err, errNotDialed) || errors.Is(err, loader.ErrClosed):
		return problem(unavailable, "HBase was not reached yet")
	case errors.Is(err, loader.ErrTableNotFound):
		return problem(noTable, "the table of this job does not exist in HBase")
	case errors.Is(err, loader.ErrTableDisabled):
		return problem(tableDisabled, "the table of this job is disabled")
	case errors.Is(err, loader.ErrRowTooLarge):
		return problem(answerTooLarge, "a row takes more than an answer may have; name fewer columns")
	case errors.Is(err, query.ErrMemory):
		return problem(overloaded, "all memory for rows is in use")
	case errors.Is(err, query.ErrSaltsUnfit):
		return problem(tableUnfit, "rows of the table have other salts than this job computes, so that keys would not be found; its operator corrects salt_buckets or the key")
	case errors.Is(err, query.ErrSaltsChanged):
		return problem(tableChanged, "the table is split for another number of salts than when the job was loaded; its operator reloads the job files if that is right")
	case errors.Is(err, query.ErrRegionsChanged):
		return problem(unavailable, "the table's regions change too fast")
	case errors.Is(err, errDeadline) || errors.Is(context.Cause(ctx), errDeadline):
		return problem(timedOut, "the rows were not read within the deadline")
	case isNoRange(err):
		return problem(badQuery, "the key does not keep the order of these columns, so rows in the range are all over the table; ask for rows of a query key")
	case fail.KindOf(err) == fail.Config:
		return problem(badQuery, "%s", err)
	case loader.Unavailable(err) || errors.Is(err, kerberos.ErrExpired):
		return problem(unavailable, "HBase or a region of the table is out of reach at present")
	case fail.KindOf(err) == fail.Check:
		return problem(tableUnfit, "HBase refuses to read the table as this job requires; the service's log says why")
	}
	return problem(internalError, "the service's log says why")
}

// serverFault reports whether a problem is not caused by the caller, so that the log should have its cause.
func (p *Problem) serverFault() bool { return p.Status >= 500 && !p.is(timedOut) }

func isNoRange(err error) bool {
	_, ok := errors.AsType[*keyrange.NoRangeError](err)
	return ok
}
