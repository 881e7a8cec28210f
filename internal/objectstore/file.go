package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bulkload/pkg/setting"
)

// Sizes in bytes of the ranges that a file requests, and limits of a file.
const (
	firstRange = 128 << 10 // of a flow: the reader may need no more than that
	maxRange   = 2 << 20
	maxHeld    = 4 * maxRange // of a file, with the requested ranges
	maxFlows   = 64           // positions from which a file is read sequentially, such as the columns of Parquet
)

// readAheadMemory is the memory in bytes that reading a file takes, with the requested range of the next part.
const readAheadMemory = maxHeld + maxRange

// file reads an object by ranges. While a reader uses a range, the next ranges of a sequential read are already requested.
type file struct {
	store  *Store
	ctx    context.Context
	cancel context.CancelFunc
	object object
	work   sync.WaitGroup

	mu     sync.Mutex
	pos    int64 // the offset of Read
	end    int64 // read-ahead ends here
	flows  []*flow
	ranges []*span // least recently used first
	whole  bool    // Within was called: a part is read from its beginning to its end
	tail   []byte  // the end of the span that was released last: readers read a few bytes again
	tailAt int64
}

// maxTail is the largest size of a tail.
const maxTail = 4 << 10

// flow is a position from which a file is read sequentially.
type flow struct {
	next int64 // the first byte that was not requested
	size int   // of the next range
}

// span is a requested range of an object. data and err are valid once done is closed.
type span struct {
	off, end int64
	done     chan struct{}
	data     []byte
	err      error
	users    int // readers that wait for it or copy from it
}

func newFile(ctx context.Context, s *Store, o object) *file {
	f := &file{store: s, object: o, end: o.size}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// Stat implements [fs.File]. It makes no request: later reads return bytes of this version of the object, or an error.
func (f *file) Stat() (fs.FileInfo, error) { return info{f.store, f.object, false}, nil }

// Close cancels running requests and waits for their end.
func (f *file) Close() error {
	f.cancel()
	f.work.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.ranges) > 0 {
		f.drop(0)
	}
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	at := f.pos
	f.mu.Unlock()
	n, err := f.ReadAt(p, at)
	f.mu.Lock()
	f.pos += int64(n)
	f.mu.Unlock()
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Within announces that the bytes from start to end will be read in order, and only few bytes after end.
func (f *file) Within(start, end int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end, f.whole = min(end, f.object.size), true
	w := &flow{next: start, size: maxRange}
	f.flows = []*flow{w}
	if r := f.store.takeLead(f.object, start, f.end); r != nil {
		f.ranges, w.next = append(f.ranges, r), r.end
	}
	f.prefetch(w, start)
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "readat", Path: f.store.name(f.object.key), Err: errors.New("negative offset")}
	}
	for n < len(p) {
		if off >= f.object.size {
			return n, io.EOF
		}
		if m := f.copyTail(p[n:], off); m > 0 {
			n, off = n+m, off+int64(m)
			continue
		}
		r := f.at(off, int64(len(p)-n))
		var err error
		select {
		case <-r.done:
			err = r.err
		case <-f.ctx.Done(): // the request of a lead does not end with the file's context
			err = context.Cause(f.ctx)
		}
		if err == nil {
			m := copy(p[n:], r.data[off-r.off:])
			n, off = n+m, off+int64(m)
		}
		f.release(r, off)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// copyTail copies bytes of the tail, and returns how many.
func (f *file) copyTail(p []byte, off int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < f.tailAt || off >= f.tailAt+int64(len(f.tail)) {
		return 0
	}
	return copy(p, f.tail[off-f.tailAt:])
}

// at returns the span that contains the byte at off, and requests one of want bytes or more if there is none. The caller releases it.
func (f *file) at(off, want int64) *span {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.ranges, func(r *span) bool { return r.off <= off && off < r.end })
	if i >= 0 && f.ranges[i].users == 0 && hasFailed(f.ranges[i]) { // the store may be well again
		f.drop(i)
		i = -1
	}
	var r *span
	if i >= 0 {
		r = f.ranges[i]
		f.ranges = append(slices.Delete(f.ranges, i, i+1), r)
	} else {
		w := f.flowAt(off)
		w.next = off
		r = f.ask(w, want)
	}
	r.users++
	for _, w := range f.flows { // the flow whose next byte follows the span
		if w.next >= r.end && w.next-r.end < maxHeld && (f.whole || w.size == maxRange && len(f.flows) <= 2) {
			f.prefetch(w, off)
			break
		}
	}
	return r
}

// flowAt returns the flow whose next byte is at off, or a new one. A new one replaces the oldest of [maxFlows].
func (f *file) flowAt(off int64) *flow {
	if i := slices.IndexFunc(f.flows, func(w *flow) bool { return w.next == off }); i >= 0 {
		return f.flows[i]
	}
	if len(f.flows) == maxFlows {
		f.flows = f.flows[1:]
	}
	w := &flow{next: off, size: firstRange}
	f.flows = append(f.flows, w)
	return w
}

// prefetch requests the next ranges of a flow that is read at offset at.
func (f *file) prefetch(w *flow, at int64) {
	for w.next < f.end && w.next-at < maxHeld-maxRange && f.held()+maxRange <= maxHeld {
		f.ask(w, 0)
	}
	if f.whole && w.next >= f.end {
		f.store.giveLead(f.object)
	}
}

// ask requests the next range of a flow, of want bytes or more, up to [maxRange].
func (f *file) ask(w *flow, want int64) *span {
	n := min(int64(w.size), maxRange)
	if !f.whole {
		n = min(n, max(firstRange, maxHeld/int64(len(f.flows)+1))) // so that the ranges of all flows fit into maxHeld
	}
	if end := f.end; w.next < end {
		n = min(n, end-w.next)
	} else if f.whole {
		n = min(n, firstRange)
	}
	n = min(max(n, min(want, maxRange)), f.object.size-w.next)
	w.size = min(2*w.size, maxRange)
	r := f.store.begin(f.ctx, &f.work, f.object, w.next, n)
	w.next += n
	f.trim(n)
	f.ranges = append(f.ranges, r)
	return r
}

// held returns the number of bytes that are in memory or requested.
func (f *file) held() (n int64) {
	for _, r := range f.ranges {
		n += r.end - r.off
	}
	return n
}

// trim drops unused spans, the least recently used first, until there is room for n bytes.
func (f *file) trim(n int64) {
	for f.held()+n > maxHeld {
		i := slices.IndexFunc(f.ranges, func(r *span) bool { return r.users == 0 && isDone(r) })
		if i < 0 {
			return
		}
		f.drop(i)
	}
}

func isDone(r *span) bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// hasFailed reports whether a request ended with an error.
func hasFailed(r *span) bool { return isDone(r) && r.err != nil }

func (f *file) drop(i int) {
	r := f.ranges[i]
	f.ranges = slices.Delete(f.ranges, i, i+1)
	if isDone(r) {
		f.store.reuse(r)
	}
}

// release ends a reader's use of a span, which was read up to offset at. A span without users that was read to its end, or failed, is dropped.
func (f *file) release(r *span, at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.users--; r.users == 0 && (at >= r.end || hasFailed(r)) {
		if i := slices.Index(f.ranges, r); i >= 0 {
			if !hasFailed(r) {
				f.tail = append(f.tail[:0], r.data[max(0, len(r.data)-maxTail):]...)
				f.tailAt = r.end - int64(len(f.tail))
			}
			f.drop(i)
		}
	}
}

// read fills a buffer with an object's bytes from off. A retry requests only the bytes that are still missing.
func (s *Store) read(ctx context.Context, o object, off int64, buf []byte) error {
	have := 0
	err := s.do(ctx, s.name(o.key), func() *request {
		q := s.protocol.get(o)
		q.from = off + int64(have)
		q.header.Set("Range", fmt.Sprintf("bytes=%d-%d", q.from, off+int64(len(buf))-1))
		return q
	}, func(resp *http.Response) error {
		if err := s.checkSame(resp, o, off+int64(have), int64(len(buf)-have)); err != nil {
			return err
		}
		n, err := io.ReadFull(resp.Body, buf[have:])
		have += n
		if err == io.ErrUnexpectedEOF || err == io.EOF {
			err = &shortError{int64(have), int64(len(buf))}
		}
		if err == nil {
			drain(resp.Body)
		}
		return err
	})
	if _, changed := errors.AsType[*ChangedError](err); changed || errors.Is(err, fs.ErrNotExist) {
		s.forget(o.key)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{s.name(o.key), "it is gone"}
	}
	return err
}

// drain reads the end of a body after its last byte, so that its connection can be reused.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 1) }

// checkSame checks that an answer has the requested bytes, and that the object is unchanged.
func (s *Store) checkSame(resp *http.Response, o object, from, n int64) error {
	if tag := s.protocol.tag(resp.Header); tag != "" && o.tag != "" && tag != o.tag {
		return &ChangedError{s.name(o.key), fmt.Sprintf("its tag was %s, it is %s", setting.Shorten(o.tag, 40), setting.Shorten(tag, 40))}
	}
	if resp.StatusCode == http.StatusOK && from == 0 && n == o.size && (resp.ContentLength < 0 || resp.ContentLength == n) {
		return nil
	}
	if resp.StatusCode != http.StatusPartialContent {
		return finalf("the store does not give parts of objects (it answered %d to a Range)", resp.StatusCode)
	}
	rest, _ := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	place, total, _ := strings.Cut(rest, "/")
	first, last, _ := strings.Cut(place, "-")
	if size, err := strconv.ParseInt(total, 10, 64); err == nil && size != o.size {
		return &ChangedError{s.name(o.key), fmt.Sprintf("its size was %d, it is %d", o.size, size)}
	}
	if a, err := strconv.ParseInt(first, 10, 64); err != nil || a != from {
		return fmt.Errorf("it sent bytes %s, not those from %d", setting.Shorten(place, 40), from)
	}
	if b, err := strconv.ParseInt(last, 10, 64); err != nil || b != from+n-1 {
		return &shortError{b - from + 1, n}
	}
	return nil
}
