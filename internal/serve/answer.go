package serve

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
	"bulkload/pkg/loader"
)

// answer is the body of an answer under way. All of it is made before a byte
// is sent. What it holds is reserved of the budget.
type answer struct {
	b        []byte
	reserved int64
	most     int64 // bytes
	rows     int
	memory   *budget

	encode  time.Duration // rows as JSON
	rereads int           // pages that were read again
}

// answers makes and takes back answers, whose buffers are used again.
type answers struct {
	memory *budget
	most   int64
	pool   sync.Pool
}

// Buffers of up to keptBuffer bytes are kept for the next answer; tail is left for what closes an answer.
const (
	keptBuffer  = 64 << 10
	firstBuffer = 8 << 10
	tail        = 1 << 10
)

// begin gives an answer, or a problem when no memory is left.
func (s *answers) begin() (*answer, error) {
	a, _ := s.pool.Get().(*answer)
	if a == nil {
		a = &answer{b: make([]byte, 0, firstBuffer)}
	}
	*a = answer{b: a.b[:0], memory: s.memory, most: s.most}
	a.reserved = int64(cap(a.b))
	if !s.memory.take(a.reserved) {
		a.reserved = 0
		return nil, problem(overloaded, "all memory for answers is in use")
	}
	return a, nil
}

// end takes an answer back.
func (s *answers) end(a *answer) {
	a.memory.give(a.reserved)
	a.reserved = 0
	if cap(a.b) <= keptBuffer {
		s.pool.Put(a)
	}
}

// errFull ends the reading of a page; the row that did not fit is not in it.
var (
	errFull  = errors.New("the answer is full")
	errSpent = errors.New("no memory is left for the answer")
)

// room makes room for a row and says when there is none.
func (a *answer) room(row loader.Row) error {
	size := int64(len(row.Key))
	for i := range row.Cells {
		size += int64(len(row.Cells[i].Qualifier) + len(row.Cells[i].Value) + 8)
	}
	return a.grow(size)
}

// grow makes room for bytes, which are reserved before they are there.
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

// add appends a row, or leaves the answer as it was.
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
	a.settle() // escapes may have taken more than was foreseen
	if int64(len(a.b))+tail > a.most {
		a.b = a.b[:before]
		return errFull
	}
	a.rows++
	return nil
}

// settle counts what the answer has grown by of itself.
func (a *answer) settle() {
	if now := int64(cap(a.b)); now > a.reserved {
		a.memory.force(now - a.reserved)
		a.reserved = now
	}
}

// page reads a page of a query into the answer: "rows":[…],"next_page":….
func (a *answer) page(ctx context.Context, from source, q query.Query, shape *rowjson.Shape, each func(i int, row loader.Row)) error {
	before := len(a.b)
	a.b = append(a.b, `"rows":[`...)
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
	a.settle()
	return nil
}

// read appends the rows of a page with commas between them, as many as there
// is room for; the stats name the page that follows. On an error the answer is
// as it was. A table whose regions change meanwhile is read again from the
// start of the page. each, if given, sees rows before they are written, from
// 0 on again when the page is read again.
func (a *answer) read(ctx context.Context, from source, q query.Query, e *rowjson.Encoder, each func(i int, row loader.Row)) (*query.ReadStats, error) {
	before, rows := len(a.b), a.rows
	var held atomic.Int64 // rows above the reading's own share
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
		case given > 0 && (errors.Is(err, errFull) || errors.Is(err, errSpent) || errors.Is(err, query.ErrMemory)):
			return st, nil // the page ends early
		case errors.Is(err, errFull):
			err = problem(answerTooLarge, "the first row of the page takes more than %d bytes; name fewer columns", a.most)
		case errors.Is(err, errSpent):
			err = problem(overloaded, "all memory for answers is in use")
		}
		a.b, a.rows = a.b[:before], rows
		return nil, err
	}
}

// write sends the answer.
func (a *answer) write(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.b)))
	_, _ = w.Write(a.b) // the client is gone
}
