// Package frames checks data from a server before a client library reads it.
// The libraries for HBase, ZooKeeper and HDFS trust the lengths in it: they
// allocate the claimed size of a frame, up to 4 GiB, and slice it by the
// lengths in it, in goroutines of their own, where a panic ends the process.
package frames

import (
	"encoding/binary"
	"fmt"
)

// Error reports a frame that no server sends.
type Error struct {
	Size uint32 // according to its first four bytes
	Why  string // continues "an answer of 12 bytes"
}

func (e *Error) Error() string { return fmt.Sprintf("an answer of %d bytes %s", e.Size, e.Why) }

// A Check examines the beginning of a frame, without its length. It returns the
// number of bytes of the frame that it needs to see, at most size. Once they
// have all arrived, it is not called again. A non-empty why refuses the frame
// and becomes the Why of an [Error]. The filter owns head.
type Check func(head []byte, size uint32) (need int, why string)

// Filter follows a stream of frames, each preceded by its length in four bytes. It
// must be used by one reader. It buffers as much of a frame as its check needs.
type Filter struct {
	Most  uint32 // maximum size of a frame in bytes
	Check Check  // required
	Whole int    // frames that have passed to their end

	length  []byte // of the current frame, as far as it has arrived
	size    uint32
	seen    uint32 // bytes of the frame
	head    []byte
	checked bool
	err     error
}

// Pass examines the next bytes of the stream, which may be cut anywhere. After an
// error, an [*Error], the bytes must not be used; every later call returns the
// same error.
func (f *Filter) Pass(p []byte) error {
	for f.err == nil && len(p) > 0 {
		if len(f.length) < 4 {
			n := min(4-len(f.length), len(p))
			f.length, p = append(f.length, p[:n]...), p[n:]
			if len(f.length) < 4 {
				break
			}
			f.size, f.seen, f.head, f.checked = binary.BigEndian.Uint32(f.length), 0, f.head[:0], false
			if f.size > f.Most {
				f.refuse(fmt.Sprintf("is longer than %d", f.Most))
				break
			}
			f.look()
		} else {
			n := min(int(f.size-f.seen), len(p))
			if !f.checked {
				f.head = append(f.head, p[:n]...)
			}
			f.seen += uint32(n)
			p = p[n:]
			f.look()
		}
		if f.seen == f.size && len(f.length) == 4 {
			f.length = f.length[:0]
			if f.err == nil {
				f.Whole++
			}
		}
	}
	return f.err
}

// look calls the check, unless it has seen enough.
func (f *Filter) look() {
	if f.checked || f.err != nil {
		return
	}
	need, why := f.Check(f.head, f.size)
	switch {
	case why != "":
		f.refuse(why)
	case need > int(f.size):
		f.refuse("ends within its own header")
	case need <= len(f.head):
		f.checked = true
	}
}

func (f *Filter) refuse(why string) { f.err = &Error{f.size, why} }

// Delimited reads the length of a message at head[at:] in a frame of the given
// size. It returns the start and the end of the message. need is above 0 if
// more of the frame must be seen.
func Delimited(head []byte, at int, size uint32) (from, to, need int, why string) {
	rest := head[min(at, len(head)):]
	n, width := binary.Uvarint(rest)
	switch {
	case width < 0:
		return 0, 0, 0, "has a length that cannot be"
	case width == 0 && at+len(rest) >= int(size):
		return 0, 0, 0, "ends within a length"
	case width == 0:
		return 0, 0, at + len(rest) + 1, ""
	}
	if from = at + width; n > uint64(int(size)-from) {
		return 0, 0, 0, fmt.Sprintf("has a message of %d bytes at byte %d", n, from)
	}
	return from, from + int(n), 0, ""
}
