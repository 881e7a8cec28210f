package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"bulkload/pkg/setting"
)

// recordHeader precedes each row in an arena and in a run: u64 sequence
// number, u32 length of key and payload, u16 length of the key.
const recordHeader = 8 + 4 + 2

// arena holds the rows of one worker between two spills. Its memory is mapped
// from the system, so the garbage collector neither scans nor counts it, and
// pages are touched only when rows are added. Rows grow from its beginning and
// entries from its end, so that both together never touch more than it has.
type arena struct {
	data    []byte  // mapped
	n       int     // bytes of rows, from the beginning
	index   []entry // all of data
	entries []entry // the end of index; until they are sorted the last one is first
	limit   int     // of rows and entries in use together
	touched byte    // keeps the compiler from removing the reads of touchEqual
}

// entry is a row in the index. Keys that are equal in their compared bytes have
// equal sort values; lower values mean smaller keys.
type entry struct {
	sort  uint64
	place uint64 // upper half: the row's position; lower half: the position of its payload in another row, or 0 if its own payload follows the key
}

func newEntry(sort uint64, pos, payload uint32) entry {
	return entry{sort, uint64(pos)<<32 | uint64(payload)}
}

func (e entry) pos() uint32     { return uint32(e.place >> 32) }
func (e entry) payload() uint32 { return uint32(e.place) }

const entrySize = IndexSize

// IndexSize is the size of a row's index entry, in bytes. It counts against the memory budget.
const IndexSize = 16

func newArena(limit int) (*arena, error) {
	limit = min(limit, math.MaxUint32) / entrySize * entrySize
	data, err := mapMemory(limit)
	if err != nil {
		return nil, err
	}
	// Mapped memory is page-aligned, and entries hold no pointers.
	index := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(data))), limit/entrySize)
	return &arena{data: data, index: index, entries: index[len(index):], limit: limit}, nil
}

// mapMemory maps memory outside Go's heap.
func mapMemory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, setting.Errorf("map %s for the sort: %w (give less with %s)", setting.Count(n, "byte"), err, setting.Memory)
	}
	hugePages(b)
	return b, nil
}

// room reports whether a row of size bytes still fits.
func (a *arena) room(size int) bool {
	return a.n+recordHeader+size+(len(a.entries)+1)*entrySize <= a.limit
}

func (a *arena) enter(e entry) {
	at := len(a.index) - len(a.entries) - 1
	a.index[at] = e
	a.entries = a.index[at:]
}

// add appends a row and returns the room for its payload, with the capacity of what is free: [Fill] may write there.
func (a *arena) add(sort, seq uint64, key []byte, payload int) []byte {
	at := a.n
	b := a.data[at : at+recordHeader+len(key)+payload]
	binary.LittleEndian.PutUint64(b, seq)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(key)+payload))
	binary.LittleEndian.PutUint16(b[12:], uint16(len(key)))
	copy(b[recordHeader:], key)
	a.n += len(b)
	a.enter(newEntry(sort, uint32(at), 0))
	return a.data[a.n-payload : a.n : len(a.data)-len(a.entries)*entrySize]
}

// addShared appends a row that uses another row's payload, at position payload and of the given size.
func (a *arena) addShared(sort, seq uint64, key []byte, payload uint32, size int) {
	at := a.n
	b := a.data[at : at+recordHeader+len(key)]
	binary.LittleEndian.PutUint64(b, seq)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(key)+size))
	binary.LittleEndian.PutUint16(b[12:], uint16(len(key)))
	copy(b[recordHeader:], key)
	a.n += len(b)
	a.enter(newEntry(sort, uint32(at), payload))
}

func (a *arena) key(pos uint32) []byte {
	b := a.data[pos:]
	n := int(binary.LittleEndian.Uint16(b[12:]))
	return b[recordHeader : recordHeader+n]
}

// record returns a row with its header. If the payload is another row's, record ends with the key, and shared is the
// payload.
func (a *arena) record(e entry) (record, shared []byte) {
	b := a.data[e.pos():]
	size := int(binary.LittleEndian.Uint32(b[8:]))
	if e.payload() == 0 {
		return b[:recordHeader+size], nil
	}
	key := int(binary.LittleEndian.Uint16(b[12:]))
	return b[:recordHeader+key], a.data[e.payload():][:size-key]
}

// prefetch reads bytes of the row that record returns.
func (a *arena) prefetch(e entry) (sum byte) {
	b := a.data[e.pos():]
	for i := 0; i < touchLines*64 && i < len(b); i += 64 {
		sum += b[i]
	}
	if e.payload() > 0 {
		b = a.data[e.payload():]
		for i := 0; i < touchLines*64 && i < len(b); i += 64 {
			sum += b[i]
		}
	}
	return sum
}

func (a *arena) reset() {
	a.n = 0
	a.entries = a.index[len(a.index):]
}

// release unmaps the memory. The arena cannot be used afterwards.
func (a *arena) release() error {
	if a.data == nil {
		return nil
	}
	err := unix.Munmap(a.data)
	a.data, a.index, a.entries, a.limit = nil, nil, nil, 0
	return err
}

// A LimitError reports that the runs would take more disk space than
// [Options].Limit allows.
type LimitError struct {
	Limit int64
	Bytes int64 // on disk when the limit was reached
	Rows  int64 // rows in those bytes, from which a caller can estimate the need of all rows
	Raw   int64 // bytes of those rows before compression
	Need  int64 // disk space that a merge of runs into longer ones needs; 0 if the error is not from such a merge
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("sorted rows need more disk space than the %s that they may take", setting.Count(e.Limit, "byte"))
}

// quota counts the bytes on disk. It is safe for concurrent use.
type quota struct {
	limit int64 // 0: none

	mu               sync.Mutex
	bytes, rows, raw int64
}

// take counts bytes that are about to be written, the number of rows in them,
// and the rows' size before compression.
func (q *quota) take(bytes, rows, raw int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.bytes+bytes > q.limit {
		return &LimitError{Limit: q.limit, Bytes: q.bytes, Rows: q.rows, Raw: q.raw}
	}
	q.bytes += bytes
	q.rows += rows
	q.raw += raw
	return nil
}

// give subtracts bytes that are no longer on disk.
func (q *quota) give(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
}

// with returns the bytes on disk while the given runs are stored twice: as they are, and merged.
func (q *quota) with(runs []*run) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.bytes
	for _, r := range runs {
		n += r.size
	}
	return n
}

func withNeed(err error, n int64) error {
	if e, ok := errors.AsType[*LimitError](err); ok {
		e.Need = n
	}
	return err
}
