package data

import "math/bits"

// random is the generator "wyrand" of Wang Yi. It replaces math/rand, since rows must not depend on the Go release.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(r.state, r.state^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below returns a number in 0..n-1.
func (r *random) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// chance returns true in the given share of cases.
func (r *random) chance(share float64) bool {
	return share > 0 && float64(r.next()>>11)/(1<<53) < share
}

const (
	digits   = "0123456789"
	hexUpper = "0123456789ABCDEF"
	alphanum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// text appends n characters of a set.
func (r *random) text(dst []byte, set string, n int) []byte {
	for range n {
		dst = append(dst, set[r.below(len(set))])
	}
	return dst
}

// hex appends n upper-case hexadecimal digits.
func (r *random) hex(dst []byte, n int) []byte {
	for n > 0 {
		v := r.next()
		for i := 0; i < 16 && n > 0; i, n = i+1, n-1 {
			dst = append(dst, hexUpper[v&15])
			v >>= 4
		}
	}
	return dst
}

// pair appends two digits.
func pair(dst []byte, n int) []byte { return append(dst, digits[n/10%10], digits[n%10]) }

// date appends a time of the years 2014 to 2017, with seconds.
func (r *random) date(dst []byte) []byte {
	dst = pair(append(dst, "20"...), 14+r.below(4))
	dst = pair(append(dst, '-'), 1+r.below(12))
	dst = pair(append(dst, '-'), 1+r.below(28))
	dst = pair(append(dst, ' '), r.below(24))
	dst = pair(append(dst, ':'), r.below(60))
	return pair(append(dst, ':'), r.below(60))
}
