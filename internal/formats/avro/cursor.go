package avro

import (
	"math"
	"slices"
	"strings"
	"time"

	"bulkload/pkg/setting"
)

// maxDepth is the largest nesting depth of records, arrays and maps.
const maxDepth = 1000

// A cursor steps through the encoded values buf[at:end], and appends texts to buf. When a method meets a fault, it
// returns false, and the fault is in reason and path.
type cursor struct {
	buf     []byte
	at, end int
	limit   int            // of len(buf)
	zone    *time.Location // of instants; nil is UTC
	depth   int

	reason string
	path   []string // path of the fault, innermost field first
	short  bool     // the data ended too early
	full   bool     // buf reached its limit
}

func (c *cursor) fail(reason string) bool {
	c.reason = reason
	return false
}

// ends records that the data end within a value.
func (c *cursor) ends(reason string) bool {
	c.short = true
	return c.fail(reason)
}

// faultIn adds a field to the path of the fault.
func (c *cursor) faultIn(name string) bool {
	c.path = append(c.path, name)
	return false
}

// field returns the path of the fault, or the first names of a deep path.
func (c *cursor) field() string {
	names, more := slices.Clone(c.path), ""
	slices.Reverse(names)
	if len(names) > 16 {
		names, more = names[:16], ".…"
	}
	for i := range names {
		names[i] = setting.Shorten(names[i], 64)
	}
	return strings.Join(names, ".") + more
}

func (c *cursor) enter() bool {
	if c.depth++; c.depth > maxDepth {
		return c.fail("values are nested more than 1000 deep")
	}
	return true
}

// long takes an int or long: a zig-zag varint of seven bits a byte, the lowest bits first.
func (c *cursor) long() (int64, bool) {
	b := c.buf[c.at:c.end]
	if len(b) > 0 && b[0] < 0x80 {
		c.at++
		return int64(b[0]>>1) ^ -int64(b[0]&1), true
	}
	return c.longer(b)
}

// longer takes a varint of several bytes, at most ten, from the start of b.
func (c *cursor) longer(b []byte) (int64, bool) {
	var u uint64
	for i, x := range b {
		u |= uint64(x&0x7f) << (7 * i)
		if x < 0x80 {
			if i == 9 && x > 1 {
				return 0, c.fail("a number has more than 64 bits")
			}
			c.at += i + 1
			return int64(u>>1) ^ -int64(u&1), true
		}
		if i == 9 {
			return 0, c.fail("a number has more than 64 bits")
		}
	}
	return 0, c.ends("the data end within a number")
}

// int takes a number of 32 bits.
func (c *cursor) int() (int64, bool) {
	v, ok := c.long()
	if ok && (v < math.MinInt32 || v > math.MaxInt32) {
		return 0, c.fail("an int has more than 32 bits")
	}
	return v, ok
}

// index takes a number below n.
func (c *cursor) index(n int, reason string) (int, bool) {
	v, ok := c.long()
	if ok && (v < 0 || v >= int64(n)) {
		return 0, c.fail(reason)
	}
	return int(v), ok
}

// length takes a length, and checks it against the remaining data.
func (c *cursor) length() (int, bool) {
	v, ok := c.long()
	if !ok {
		return 0, false
	}
	if v < 0 {
		return 0, c.fail("a length is negative")
	}
	if v > int64(c.end-c.at) {
		return 0, c.ends("a length exceeds the data")
	}
	return int(v), true
}

// take takes n bytes and returns their offset.
func (c *cursor) take(n int) (int, bool) {
	if n > c.end-c.at {
		return 0, c.ends("the data end within a value")
	}
	at := c.at
	c.at += n
	return at, true
}

// items starts the next block of an array or a map, whose items take at least least bytes each. A count of 0 ends the array or map. size is the block's
// size in bytes if the writer recorded it, else -1.
func (c *cursor) items(least int64) (count int64, size int, ok bool) {
	size = -1
	if count, ok = c.long(); !ok {
		return 0, 0, false
	}
	if count < 0 {
		if size, ok = c.length(); !ok {
			return 0, 0, false
		}
		if count = -count; count < 0 {
			return 0, 0, c.fail("a count has more than 63 bits")
		}
	}
	if least > 0 && count > int64(c.end-c.at)/least {
		return 0, 0, c.fail("an array or a map has more items than the data can hold")
	}
	return count, size, true
}
