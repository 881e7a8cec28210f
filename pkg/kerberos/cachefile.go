package kerberos

import (
	"encoding/binary"
	"errors"
)

// maxCache bounds a ticket cache: one with a hundred tickets has about 200 kB.
const maxCache = 16 << 20

var errCache = errors.New("it is not a ticket cache, or damaged: run kinit again")

// checkCache checks the lengths in a ticket cache of version 3 or 4 (MIT Kerberos, doc/formats/ccache_file_format), which gokrb5's parser
// trusts.
func checkCache(data []byte) error {
	if len(data) < 2 || len(data) > maxCache || data[0] != 5 || data[1] != 3 && data[1] != 4 {
		return errCache
	}
	w := walk{rest: data[2:], ok: true}
	if data[1] == 4 {
		w.skip(w.number(2))
	}
	w.principal()
	for w.ok && len(w.rest) > 0 {
		w.principal()
		w.principal()
		w.skip(2 * (5 - int(data[1]))) // the key's type, which version 3 has twice
		w.text()
		w.skip(4*4 + 1 + 4) // times, whether it is of a user's key, flags
		for range 2 {       // addresses, authorization data
			for n := w.number(4); w.ok && n > 0; n-- {
				w.skip(2)
				w.text()
			}
		}
		w.text()
		w.text()
	}
	if !w.ok {
		return errCache
	}
	return nil
}

// walk skips over bytes by their lengths. ok becomes false once a length exceeds the rest.
type walk struct {
	rest []byte
	ok   bool
}

func (w *walk) skip(n int) {
	if w.ok = w.ok && n <= len(w.rest); w.ok {
		w.rest = w.rest[n:]
	}
}

// number returns an integer of 2 or 4 bytes, 0 if the bytes are missing.
func (w *walk) number(size int) int {
	b := w.rest
	if w.skip(size); !w.ok {
		return 0
	}
	if size == 2 {
		return int(binary.BigEndian.Uint16(b))
	}
	return int(binary.BigEndian.Uint32(b))
}

// text skips bytes that follow their length.
func (w *walk) text() { w.skip(w.number(4)) }

func (w *walk) principal() {
	w.skip(4) // the type
	n := w.number(4)
	w.text()
	for ; w.ok && n > 0; n-- {
		w.text()
	}
}
