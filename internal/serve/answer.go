package serve

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
	"bulkload/pkg/loader"
)

// answer is the body of a response in preparation. The whole body is built before the first byte is sent. Its memory
// is reserved from the budget.
type answer struct {
	b        []byte
	reserved int64
	most     int64 // bytes
	rows     int
	memory   share

	encode  time.Duration // rows as JSON
	rereads int           // pages that were read again
}

// answers creates and releases answers, whose buffers are reused.
type answers struct {
	memory *budget
	most   int64
	pool   sync.Pool
}

// Buffers of up to keptBuffer bytes are kept for reuse; tail bytes are left free for the end of an answer.
const (
	keptBuffer  = 64 << 10
	firstBuffer = 8 << 10
	tail        = 1 << 10
)

// noMemory returns the problem of a request that gets no memory.
func noMemory() *Problem {
	return problem(overloaded, "all memory for answers, or this client's part of it, is in use")
}

// begin returns an answer to a caller, or a problem if no memory is left.
func (s *answers) begin(c *caller) (*answer, error) {
	a, _ := s.pool.Get().(*answer)
	if a == nil {
		a = &answer{b: make([]byte, 0, firstBuffer)}
	}
	*a = answer{b: a.b[:0], memory: s.memory.of(c), most: s.most}
	a.reserved = int64(cap(a.b))
	if !a.memory.take(a.reserved) {
		a.reserved = 0
		return nil, noMemory()
	}
	return a, nil
}

func (s *answers) end(a *answer) {
	a.memory.give(a.reserved)
	a.reserved = 0
	if cap(a.b) <= keptBuffer {
		s.pool.Put(a)
	}
}

// errFull ends the reading of a page; the page does not contain the row that did not fit.
var (
	errFull  = errors.New("the answer is full")
	errSpent = errors.New("no memory is left for the answer")
)

// room reserves space for a row, or returns an error if there is none.
func (a *answer) room(row loader.Row) error {
	size := int64(len(row.Key))
	for i := range row.Cells {
		size += int64(len(row.Cells[i].Qualifier) + len(row.Cells[i].Value) + 8)
	}
	return a.grow(size)
}

// grow reserves memory for a number of bytes before it allocates them.
func (a *answer) grow(size int64) error {
	need := int64(len(a.b)) + size + tail
	if need > a.most {
		return errFull
	}
	if need <= int64(cap(a.b)) {
		return nil
	}
	grown := min(max(need, 2*int64(cap(a.b))), max(a.most+tail, need))
	if !a.memory.take(grown - a.reserved) {
		return errSpent
	}
	a.reserved = grown
	b := make([]byte, len(a.b), grown)
	copy(b, a.b)
	a.b = b
	return nil
}

// add appends a row. On an error it leaves the answer unchanged.
func (a *answer) add(e *rowjson.Encoder, row loader.Row, first bool) error {
	if err := a.room(row); err != nil {
		return err
	}
	before, began := len(a.b), time.Now()
	if !first {
		a.b = append(a.b, ',')
	}
	a.b = e.Append(a.b, row)
	a.encode += time.Since(began)
	a.settle() // escapes may have taken more than the estimate
	if int64(len(a.b))+tail > a.most {
		a.b = a.b[:before]
		return errFull
	}
	a.rows++
	return nil
}

// settle reserves the memory by which the buffer has grown without a call of grow.
func (a *answer) settle() {
	if now := int64(cap(a.b)); now > a.reserved {
		a.memory.force(now - a.reserved)
		a.reserved = now
	}
}

// page reads a page of a query into the answer: {"rows":[…],"next_page":…}.
func (a *answer) page(ctx context.Context, from source, q query.Query, shape *rowjson.Shape, each func(i int, row loader.Row)) error {
	before := len(a.b)
	a.b = append(a.b, `{"rows":[`...)
	st, err := a.read(ctx, from, q, rowjson.NewEncoder(shape), each)
	if err != nil {
		a.b = a.b[:before]
		return err
	}
	a.b = append(a.b, `],"next_page":`...)
	if st.Next == "" {
		a.b = append(a.b, "null"...)
	} else {
		a.b = append(append(append(a.b, '"'), st.Next...), '"')
	}
	a.b = append(a.b, '}')
	a.settle()
	return nil
}

// read appends the rows of a page, separated by commas, as many as fit; the stats name the next page. On an error the
// answer is unchanged. If the table's regions change meanwhile, read starts the page again. each, if not nil, is
// called with each row before the row is written; i begins at 0 again when the page is read again.
func (a *answer) read(ctx context.Context, from source, q query.Query, e *rowjson.Encoder, each func(i int, row loader.Row)) (*query.ReadStats, error) {
	before, rows := len(a.b), a.rows
	var held atomic.Int64 // bytes of rows above the reading's own share
	defer func() { a.memory.give(held.Load()) }()
	q.Borrowed = true
	q.More = func(n int64) bool {
		if !a.memory.take(n) {
			return false
		}
		held.Add(n)
		return true
	}
	for tries := 0; ; tries++ {
		given := 0
		st, err := from.Read(ctx, q, func(row loader.Row) error {
			if each != nil {
				each(given, row)
			}
			err := a.add(e, row, given == 0)
			if err == nil {
				given++
			}
			return err
		})
		switch {
		case errors.Is(err, query.ErrRegionsChanged) && ctx.Err() == nil && tries < 10:
			a.b, a.rows = a.b[:before], rows
			a.rereads++
			a.memory.give(held.Swap(0))
			continue
		case err == nil:
			return st, nil
		case given > 0 && st != nil && st.Next != "" && (errors.Is(err, errFull) || errors.Is(err, errSpent) || errors.Is(err, query.ErrMemory) || errors.Is(err, loader.ErrRowTooLarge)):
			return st, nil // the page ends early
		case given == 0 && errors.Is(err, errFull):
			err = problem(answerTooLarge, "the first row of the page takes more than %d bytes; name fewer columns", a.most)
		case errors.Is(err, errFull) || errors.Is(err, errSpent): // without a token, rows that follow would be lost
			err = noMemory()
		}
		a.b, a.rows = a.b[:before], rows
		return nil, err
	}
}

// budget is memory that requests share. Requests do not wait for it: a request that gets no memory ends a page early,
// or is refused.
type budget struct {
	free      atomic.Int64
	perClient int64

	mu      sync.Mutex
	clients map[string]int64 // bytes in use
}

func newBudget(l Limits) *budget {
	b := &budget{perClient: l.clientAnswers(), clients: map[string]int64{}}
	b.free.Store(l.answers())
	return b
}

// take reserves n bytes, or nothing.
func (b *budget) take(n int64) bool {
	if b.free.Add(-n) >= 0 {
		return true
	}
	b.free.Add(n)
	return false
}

// force reserves n bytes that are already in use, or with n below 0 releases them.
func (b *budget) force(n int64) { b.free.Add(-n) }

// of returns a client's part of the budget.
func (b *budget) of(c *caller) share { return share{b, c.key()} }

// share is the part of a budget that one client may use, so that a client that receives its responses or sends its bodies slowly does not
// take the memory of others.
type share struct {
	*budget
	client string
}

// take reserves n bytes, or nothing.
func (s share) take(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[s.client]+n > s.perClient || !s.budget.take(n) {
		return false
	}
	s.count(n)
	return true
}

// force reserves n bytes that are already in use.
func (s share) force(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.force(n)
	s.count(n)
}

func (s share) give(n int64) { s.force(-n) }

// count adds to the bytes of the client. The caller holds the lock.
func (s share) count(n int64) {
	if s.clients[s.client] += n; s.clients[s.client] == 0 {
		delete(s.clients, s.client)
	}
}
