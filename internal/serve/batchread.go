package serve

import (
	"context"
	"encoding/json"
	"sync"

	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
)

// batchReading reads the keys of a batch, several at a time, and joins the results in the order of the request.
type batchReading struct {
	server *Server
	res    *resource
	batch  *batch
	shape  *rowjson.Shape
	full   *Problem // of the keys from the one on whose rows no longer fit; nil: the answer is not full
}

// batchPart is the result of one key: its rows or an error.
type batchPart struct {
	answer *answer // nil: no memory was left for it
	err    error
}

// run appends the results to an answer. The request's own place allows one reading at a time. Further readings take
// free places and wait for none.
func (p *batchReading) run(ctx context.Context, a *answer, c *caller) error {
	keys := len(p.batch.keys)
	more := p.server.gate.places(c, min(p.server.limits.BatchReads, keys)-1)
	defer func() {
		for range more {
			p.server.gate.leave(c)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	parts := make([]chan batchPart, keys)
	for i := range parts {
		parts[i] = make(chan batchPart, 1)
	}
	under := make(chan struct{}, 1+more) // being read, or read and not yet joined
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range keys {
			select {
			case under <- struct{}{}:
				wg.Go(func() { parts[i] <- p.read(ctx, c, i) })
			case <-ctx.Done():
				return
			}
		}
	})
	defer func() {
		cancel()
		wg.Wait()
		for _, part := range parts {
			select {
			case left := <-part:
				p.drop(&left)
			default:
			}
		}
	}()
	for i := range keys {
		if i > 0 {
			a.b = append(a.b, ',')
		}
		if p.full != nil {
			if err := a.appendProblem(p.full); err != nil {
				return err
			}
			continue
		}
		var part batchPart
		select {
		case part = <-parts[i]:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		found, err := p.join(ctx, a, &part, i)
		p.drop(&part)
		if err != nil {
			return err
		}
		if p.full != nil {
			cancel()
		}
		if found != nil {
			if err := a.appendProblem(found); err != nil {
				return err
			}
		}
		<-under
	}
	return nil
}

// read reads the rows of one key into a separate answer.
func (p *batchReading) read(ctx context.Context, c *caller, i int) batchPart {
	a, err := p.server.answers.begin(c)
	if err == nil {
		err = p.page(ctx, a, i)
	}
	return batchPart{a, err}
}

func (p *batchReading) page(ctx context.Context, a *answer, i int) error {
	return a.page(ctx, p.res.table, p.server.asked(p.res, query.Query{Values: p.batch.keys[i], Columns: p.batch.columns, Limit: int64(p.batch.limit)}), p.shape, nil)
}

// join appends the rows of one key. If they do not fit, or if there was no memory to read them concurrently with
// others, it reads them again into the answer itself, which may end their page early. A problem is about this key
// only, unless it is [batchReading.full].
func (p *batchReading) join(ctx context.Context, a *answer, part *batchPart, i int) (*Problem, error) {
	err := part.err
	if part.answer != nil {
		a.encode += part.answer.encode
		a.rereads += part.answer.rereads
	}
	again := err != nil && failure(ctx, err).is(overloaded)
	if err == nil {
		if err = a.grow(int64(len(part.answer.b))); err == nil {
			a.b = append(a.b, part.answer.b...)
			a.rows += part.answer.rows
			return nil, nil
		}
		again = true
	}
	if again {
		p.drop(part)
		err = p.page(ctx, a, i)
	}
	if err == nil {
		return nil, nil
	}
	found := failure(ctx, err)
	switch {
	case found.is(answerTooLarge) && again && (a.rows > 0 || i > 0 && part.err == nil): // and not by the row alone
		p.full = problem(answerTooLarge, "the answer is full with the results of earlier keys: ask for this key again")
		return p.full, nil
	case found.is(badQuery) || found.is(answerTooLarge):
		return found, nil
	}
	return nil, err
}

// drop releases the answer of a part, if that was not done before.
func (p *batchReading) drop(part *batchPart) {
	if part.answer != nil {
		p.server.answers.end(part.answer)
		part.answer = nil
	}
}

// appendProblem appends a problem as the result of a key.
func (a *answer) appendProblem(p *Problem) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	a.b = append(append(append(a.b, `{"problem":`...), text...), '}')
	a.settle()
	return nil
}
