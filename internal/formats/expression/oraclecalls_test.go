package expression

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"bulkload/pkg/keygen"
)

func (o oracle) call(e keygen.Call) (plain, error) {
	text := func(s string) (plain, error) { return plain{text: s}, nil }
	last := 0
	if len(e.Args) > 0 {
		last, _ = keygen.WholeNumber(e.Args[len(e.Args)-1])
	}
	of := func(f func(s string) string) (plain, error) {
		return o.strict(e.Args[:1], func(v []plain) (plain, error) { return text(f(v[0].String())) })
	}
	runes := func(f func(r []rune) string) (plain, error) { return of(func(s string) string { return f([]rune(s)) }) }
	below := func(r rune) bool { return r <= ' ' }
	switch e.Func {
	case "coalesce":
		for _, a := range e.Args {
			if v, err := o.value(a); err != nil || !v.null {
				return v, err
			}
		}
		return plain{null: true}, nil
	case "nullif":
		if v, err := o.positive("=", e.Args); err != nil || v.truth && !v.null {
			return plain{null: true}, err
		}
		return o.value(e.Args[0])
	case "concat":
		all := ""
		for _, a := range e.Args {
			v, err := o.value(a)
			if err != nil {
				return v, err
			}
			if !v.null {
				all += v.String()
			}
		}
		return text(all)
	case "replace":
		return o.strict(e.Args, func(v []plain) (plain, error) {
			if v[1].String() == "" {
				return text(v[0].String())
			}
			return text(strings.ReplaceAll(v[0].String(), v[1].String(), v[2].String()))
		})
	case "upper":
		return of(func(s string) string { return strings.Map(unicode.ToUpper, s) })
	case "lower":
		return of(func(s string) string { return strings.Map(unicode.ToLower, s) })
	case "trim":
		return of(func(s string) string { return strings.TrimFunc(s, below) })
	case "ltrim":
		return of(func(s string) string { return strings.TrimLeftFunc(s, below) })
	case "rtrim":
		return of(func(s string) string { return strings.TrimRightFunc(s, below) })
	case "reverse":
		return runes(func(r []rune) string { slices.Reverse(r); return string(r) })
	case "md5hex":
		return o.strict(e.Args, func(v []plain) (plain, error) { return text(fmt.Sprintf("%x", md5.Sum([]byte(texts(v))))) })
	case "salted":
		return o.strict(e.Args, func(v []plain) (plain, error) { return text(plainHMAC(testSalt, v[0].String())) })
	case "hash":
		return o.strict(e.Args, func(v []plain) (plain, error) {
			h := int32(0)
			for _, u := range utf16.Encode([]rune(texts(v))) {
				h = 31*h + int32(u)
			}
			return plain{n: big.NewInt(int64(h))}, nil
		})
	case "substr":
		from, _ := keygen.WholeNumber(e.Args[1])
		return runes(func(r []rune) string {
			if from < 0 {
				from = max(0, len(r)+from)
			}
			r = r[min(from, len(r)):]
			if len(e.Args) > 2 {
				r = r[:min(last, len(r))]
			}
			return string(r)
		})
	case "lpad", "rpad":
		width, _ := keygen.WholeNumber(e.Args[1])
		return runes(func(r []rune) string {
			fill := []rune(strings.Repeat(string(e.Args[2].(keygen.Literal).Bytes), width))[:max(0, width-len(r))]
			r = r[:min(width, len(r))]
			if e.Func == "lpad" {
				return string(fill) + string(r)
			}
			return string(r) + string(fill)
		})
	case "length":
		return o.strict(e.Args, func(v []plain) (plain, error) {
			return plain{n: big.NewInt(int64(len([]rune(v[0].String()))))}, nil
		})
	}
	return o.arithmetic(e, last)
}

func (o oracle) arithmetic(e keygen.Call, last int) (plain, error) {
	fold := func(scale func(a, b int) int, f func(a, b *big.Rat) *big.Rat) (plain, error) {
		return o.numeric(e.Args, func(v []plain) (plain, error) {
			sum := v[0]
			for _, p := range v[1:] {
				sum = at(f(sum.rat(), p.rat()), scale(sum.scale, p.scale))
			}
			return sum, nil
		})
	}
	most := func(a, b int) int { return max(a, b) }
	switch e.Func {
	case "add":
		return fold(most, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) })
	case "subtract":
		return fold(most, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) })
	case "multiply":
		return fold(func(a, b int) int { return a + b }, func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) })
	case "divide":
		return o.numeric(e.Args[:2], func(v []plain) (plain, error) {
			if v[1].n.Sign() == 0 {
				return plain{}, errOracle
			}
			return at(new(big.Rat).Quo(v[0].rat(), v[1].rat()), last), nil
		})
	case "round":
		return o.numeric(e.Args[:1], func(v []plain) (plain, error) { return at(v[0].rat(), last), nil })
	case "abs":
		return o.numeric(e.Args, func(v []plain) (plain, error) { return plain{n: new(big.Int).Abs(v[0].n), scale: v[0].scale}, nil })
	case "negate":
		return o.numeric(e.Args, func(v []plain) (plain, error) { return plain{n: new(big.Int).Neg(v[0].n), scale: v[0].scale}, nil })
	case "decimal":
		return o.numeric(e.Args, func(v []plain) (plain, error) { return v[0], nil })
	case "least", "greatest":
		return o.compared(e.Args)(e.Args, func(v []plain) (plain, error) {
			found := v[0]
			for _, p := range v[1:] {
				if c := compare(p, found); c < 0 && e.Func == "least" || c > 0 && e.Func == "greatest" {
					found = p
				}
			}
			return found, nil
		})
	}
	return plain{}, fmt.Errorf("the oracle has no %s", e.Func)
}

// plainHMAC is HMAC-SHA-256 in the notation of RFC 2104, for a key of at most 64 bytes.
func plainHMAC(key []byte, text string) string {
	inner, outer := bytes.Repeat([]byte{0x36}, 64), bytes.Repeat([]byte{0x5c}, 64)
	for i, b := range key {
		inner[i], outer[i] = inner[i]^b, outer[i]^b
	}
	in := sha256.Sum256(append(inner, text...))
	return fmt.Sprintf("%x", sha256.Sum256(append(outer, in[:]...)))
}
