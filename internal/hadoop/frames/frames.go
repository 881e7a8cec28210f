// Package frames looks at what a server sends before a client library reads
// it. The libraries for HBase, ZooKeeper and HDFS believe the lengths in it:
// they allocate what a frame says that it has, up to 4 GiB, and cut it by the
// lengths in it, in goroutines of their own where a panic ends the process.
package frames

import (
	"encoding/binary"
	"fmt"
)

// Error is a frame that no server sends.
type Error struct {
	Size uint32 // as its first four bytes say
	Why  string // goes on from "an answer of 12 bytes"
}

func (e *Error) Error() string { return fmt.Sprintf("an answer of %d bytes %s", e.Size, e.Why) }

// A Check looks at the beginning of a frame, which is after its length. It
// gives how many bytes of the frame it has to see, no more than size; when
// these are all there it is asked no more. A why that is not empty refuses the
// frame, as in [Error]. head is the filter's.
type Check func(head []byte, size uint32) (need int, why string)

// Filter follows a stream of frames, each after its length in four bytes. It
// belongs to one reader. It keeps as much of a frame as its check has to see.
type Filter struct {
	Most  uint32 // bytes that a frame may have
	Check Check  // needed

	length  []byte // of the current frame, as far as it has come
	size    uint32
	seen    uint32 // bytes of the frame
	head    []byte
	checked bool
	err     error
}

// Pass looks at the next bytes of the stream, however it is cut. With an error,
// an [*Error], they must not be read by anybody; every later call gives it again.
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
		}
	}
	return f.err
}

// look asks the check, unless it has seen enough.
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

// Delimited reads the length of a message that stands at head[at:] in a frame
// of a size: from where the message begins to where it ends. need is above 0
// when more of the frame must be seen.
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
