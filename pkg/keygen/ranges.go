package keygen

import (
	"math"
	"strconv"
)

// numbers is the range of an integer.
type numbers struct {
	min, max int64
	random   bool // it is computed from a hash
	even     bool // its values are about equally frequent, those of opposite signs together
}

// evenMod reports whether the remainders of the numbers by a modulus are about equally frequent: the modulus divides the size of the range, nearly so,
// or is beyond it.
func (n numbers) evenMod(by int64) bool {
	const doubtful = 0.001 // the greatest deviation from equal shares, as a part of all numbers, that counts as even
	size, modulus := float64(max(n.max, -n.min))+1, float64(by)
	rest := math.Mod(size, modulus)
	return n.even && (size <= modulus || rest*(modulus-rest) <= doubtful*size*modulus)
}

func (n numbers) shape() shape {
	if n.even && n.min == 0 && n.max < 10 {
		return spreadOver(n.max+1, 1)
	}
	s := shape{min: 1, max: max(len(strconv.FormatInt(n.min, 10)), decimals(n.max)), set: decimalDigits()}
	if n.min >= 0 {
		s.min = decimals(n.min)
	} else {
		s.set.add('-')
	}
	return s.withLead()
}

// numbersOf returns the range of an expression that is an integer, or of the integers that its text may represent.
func numbersOf(e Expr, o Options) (numbers, bool) {
	if c, ok := e.(Call); ok {
		if f, ok := findFunction(c.Func); ok && f.number != nil {
			return f.numbers(c, o), true
		}
	}
	return numbers{min: -1 << 63, max: 1<<63 - 1}, false
}

func modNumbers(c Call, o Options) numbers {
	in, _ := numbersOf(c.Args[0], o)
	n := int64(c.Ints[0])
	out := numbers{max: min(in.max, n-1), random: in.random, even: in.evenMod(n)}
	if in.min < 0 {
		out.min = max(in.min, 1-n)
	}
	out.max = max(out.max, 0)
	return out
}

func absNumbers(c Call, o Options) numbers {
	in, _ := numbersOf(c.Args[0], o)
	if in.min == -1<<63 {
		return numbers{max: 1<<63 - 1}
	}
	return numbers{max: max(in.max, -in.min), random: in.random, even: in.even}
}

func shortNumbers(c Call, o Options) numbers {
	in, _ := numbersOf(c.Args[0], o)
	if in.min >= -1<<15 && in.max < 1<<15 {
		return in
	}
	return numbers{min: -1 << 15, max: 1<<15 - 1, random: in.random, even: in.max >= 1<<16-1 && in.evenMod(1<<16)}
}

func numberNumbers(c Call, o Options) numbers {
	in, _ := numbersOf(c.Args[0], o)
	return in
}

func millisNumbers(c Call, _ Options) numbers {
	if l, err := parseLayout(constant(c.Args[1])); err == nil && l.unit == 0 {
		const day = 86400
		return numbers{min: (minSecond - day) * 1000, max: (maxSecond+day)*1000 + 999}
	}
	return numbers{min: -1 << 63, max: 1<<63 - 1}
}

// decimals returns the number of decimal digits of n.
func decimals(n int64) int { return len(strconv.FormatInt(n, 10)) }
