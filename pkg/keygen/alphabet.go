package keygen

import (
	"fmt"
	"math/bits"
	"strings"

	"bulkload/pkg/keygen/rowkey"
)

// An Alphabet is a set of bytes. The zero value is empty.
type Alphabet [4]uint64

func (a *Alphabet) add(b byte) { a[b>>6] |= 1 << (b & 63) }

// Has reports whether b is in the set.
func (a Alphabet) Has(b byte) bool { return a[b>>6]&(1<<(b&63)) != 0 }

// Len returns the number of bytes in the set.
func (a Alphabet) Len() (n int) {
	for _, w := range a {
		n += bits.OnesCount64(w)
	}
	return n
}

// Within reports whether all bytes of a are in b.
func (a Alphabet) Within(b Alphabet) bool {
	for i := range a {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

func (a Alphabet) union(b Alphabet) Alphabet {
	for i := range a {
		a[i] |= b[i]
	}
	return a
}

func (a Alphabet) bytes() []byte {
	var s []byte
	for b := range 256 {
		if a.Has(byte(b)) {
			s = append(s, byte(b))
		}
	}
	return s
}

// each returns the set of fn's results for the members.
func (a Alphabet) each(fn func(byte) byte) Alphabet {
	var out Alphabet
	for _, b := range a.bytes() {
		out.add(fn(b))
	}
	return out
}

func setOf(s string) Alphabet {
	var a Alphabet
	for i := range len(s) {
		a.add(s[i])
	}
	return a
}

const (
	decimalSymbols = "0123456789"
	hexSymbols     = "0123456789abcdef"
)

func decimalDigits() Alphabet { return setOf(decimalSymbols) }
func anyByte() Alphabet       { return Alphabet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} }
func asciiBytes() Alphabet    { return Alphabet{^uint64(0), ^uint64(0)} }

// String returns a readable name of the set, the narrowest that fits.
func (a Alphabet) String() string {
	switch n := a.Len(); {
	case n == 0:
		return "nothing"
	case n == 1:
		return fmt.Sprintf("'%s'", rowkey.String(a.bytes()))
	case a.Within(decimalDigits()):
		return "decimal digits"
	case a.Within(setOf(hexSymbols)):
		return "lower-case hex digits"
	case a.Within(setOf(strings.ToUpper(hexSymbols))):
		return "upper-case hex digits"
	case a.Within(setOf("-" + decimalSymbols)):
		return "decimal digits and -"
	case n == 256:
		return "any bytes"
	}
	b := a.bytes()
	first, last := b[0], b[len(b)-1]
	if a.Within(asciiBytes()) && int(last-first) >= len(b) {
		return "ASCII"
	}
	return fmt.Sprintf("bytes 0x%02x to 0x%02x", first, last)
}
