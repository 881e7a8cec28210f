package extsort

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"bulkload/pkg/setting"

	"golang.org/x/sys/unix"
)

// recordHeader precedes each row in an arena and in a run: u64 sequence
// number, u32 length of key and payload, u16 length of the key.
const recordHeader = 8 + 4 + 2

// arena holds the rows of one worker between two spills. Its memory comes
// straight from the system, so the collector neither scans nor counts it, and
// pages are touched only as rows come.
type arena struct {
	data    []byte // mapped
	n       int    // bytes of data in use
	index   []byte // mapped; what entries are in
	entries []entry
	limit   int  // of data and entries together
	touched byte // so that looking at rows is not left out
}

// entry is a row in the index. Keys of equal order have equal sort values;
// lower values mean smaller keys.
type entry struct {
	sort  uint64
	place uint64 // where the row is, and in the lower half its payload: another row's; 0: its own follows the key
}

func newEntry(sort uint64, pos, payload uint32) entry {
	return entry{sort, uint64(pos)<<32 | uint64(payload)}
}

func (e entry) pos() uint32     { return uint32(e.place >> 32) }
func (e entry) payload() uint32 { return uint32(e.place) }

const entrySize = IndexSize

// IndexSize is the size of a row's index entry, in bytes. It counts against the memory budget.
const IndexSize = 16

// smallRow is a row in the arena with its index entry, small enough that
// rows hardly ever come smaller: the index has room for an arena full of
// them. Room that is not used is never touched.
const smallRow = recordHeader + entrySize + 18

func newArena(limit int) (*arena, error) {
	limit = min(limit, math.MaxUint32)
	data, err := mapMemory(limit)
	if err != nil {
		return nil, err
	}
	rows := limit / smallRow
	index, err := mapMemory(rows * entrySize)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	// Mapped memory is aligned to pages, and entries hold no pointers.
	entries := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(index))), rows)
	return &arena{data: data, index: index, entries: entries[:0], limit: limit}, nil
}

// mapMemory reserves memory outside Go's heap.
func mapMemory(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, setting.Errorf("map %s for the sort: %w (give less with %s)", setting.Count(n, "byte"), err, setting.Memory)
	}
	hugePages(b)
	return b, nil
}

// room reports whether a row of that many bytes still fits.
func (a *arena) room(size int) bool {
	return a.n+recordHeader+size+(len(a.entries)+1)*entrySize <= a.limit && len(a.entries) < cap(a.entries)
}

// add appends a row and gives the place of its payload.
func (a *arena) add(sort, seq uint64, key []byte, payload int) []byte {
	at := a.n
	b := a.data[at : at+recordHeader+len(key)+payload]
	binary.LittleEndian.PutUint64(b, seq)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(key)+payload))
	binary.LittleEndian.PutUint16(b[12:], uint16(len(key)))
	copy(b[recordHeader:], key)
	a.n += len(b)
	a.entries = append(a.entries, newEntry(sort, uint32(at), 0))
	return b[recordHeader+len(key):]
}

// addShared appends a row whose payload is another row's, of that place and size.
func (a *arena) addShared(sort, seq uint64, key []byte, payload uint32, size int) {
	at := a.n
	b := a.data[at : at+recordHeader+len(key)]
	binary.LittleEndian.PutUint64(b, seq)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(key)+size))
	binary.LittleEndian.PutUint16(b[12:], uint16(len(key)))
	copy(b[recordHeader:], key)
	a.n += len(b)
	a.entries = append(a.entries, newEntry(sort, uint32(at), payload))
}

func (a *arena) key(pos uint32) []byte {
	b := a.data[pos:]
	n := int(binary.LittleEndian.Uint16(b[12:]))
	return b[recordHeader : recordHeader+n]
}

// record returns a row with its header. Of one whose payload is another's, it ends with the key, and shared is that payload.
func (a *arena) record(e entry) (record, shared []byte) {
	b := a.data[e.pos():]
	size := int(binary.LittleEndian.Uint32(b[8:]))
	if e.payload() == 0 {
		return b[:recordHeader+size], nil
	}
	key := int(binary.LittleEndian.Uint16(b[12:]))
	return b[:recordHeader+key], a.data[e.payload():][:size-key]
}

// touch reads bytes of the rows that record returns.
func (a *arena) touch(e entry) (sum byte) {
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
	a.entries = a.entries[:0]
}

// release gives the memory back; the arena cannot be used any more.
func (a *arena) release() error {
	if a.data == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(a.data), unix.Munmap(a.index))
	a.data, a.index, a.entries = nil, nil, nil
	return err
}
