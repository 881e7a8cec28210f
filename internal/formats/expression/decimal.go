package expression

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/keygen"
)

// decimal is an exact number, n × 10^-scale. The scale is 0 or more: 1.50 has 2.
type decimal struct {
	small int64 // the number, unless it is wide
	scale int
	wide  bool // beyond 64 bits
	big   big.Int
}

// errDigits is the error of numbers that are too long.
var errDigits = errors.New("a number has more than 1000 digits")

// arith computes with decimals. It belongs to one node, which reuses its buffers for the next record.
type arith struct {
	a, b, t, u, r big.Int
	powers        []*big.Int // of 10
	unit          decimal
}

// pow10 returns 10^n, for n from 0 to 18.
func pow10(n int) int64 {
	return [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}[n]
}

func (x *arith) pow(n int) *big.Int {
	for len(x.powers) <= n {
		if len(x.powers) == 0 {
			x.powers = append(x.powers, big.NewInt(1))
			continue
		}
		x.powers = append(x.powers, new(big.Int).Mul(x.powers[len(x.powers)-1], big.NewInt(10)))
	}
	return x.powers[n]
}

// times returns a×b, and false if it does not fit.
func times(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// plus returns a+b, and false if it does not fit.
func plus(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) && s != math.MinInt64
}

func (d *decimal) set(n int64, scale int) { d.small, d.scale, d.wide = n, scale, false }

// setBig sets d to n × 10^-scale. It stores n in 64 bits if it fits.
func (d *decimal) setBig(n *big.Int, scale int) error {
	const maxBits = 3322 // for 1000 digits
	if n.BitLen() > maxBits || scale > keygen.MaxScale {
		return errDigits
	}
	if n.IsInt64() && n.Int64() != math.MinInt64 {
		d.set(n.Int64(), scale)
		return nil
	}
	d.big.Set(n)
	d.scale, d.wide = scale, true
	return nil
}

// whole returns the number without its scale, in tmp unless it is wide.
func (d *decimal) whole(tmp *big.Int) *big.Int {
	if d.wide {
		return &d.big
	}
	return tmp.SetInt64(d.small)
}

func (d *decimal) sign() int {
	switch {
	case d.wide:
		return d.big.Sign()
	case d.small < 0:
		return -1
	case d.small > 0:
		return 1
	}
	return 0
}

// parse reads a number that celltype accepts as a decimal.
func (d *decimal) parse(text []byte, x *arith) error {
	if n, scale, ok := parseSmall(text); ok {
		d.set(n, scale)
		return nil
	}
	return d.parseAny(text, x)
}

// parseSmall is parseAny for numbers of at most 18 digits without an exponent.
func parseSmall(text []byte) (n int64, scale int, ok bool) {
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	digits, point := 0, -1
	for i, c := range rest {
		if c == '.' && point < 0 {
			point = i
			continue
		}
		if c < '0' || c > '9' || digits == 18 {
			return 0, 0, false
		}
		n = n*10 + int64(c-'0')
		digits++
	}
	if digits == 0 {
		return 0, 0, false
	}
	if point >= 0 {
		scale = len(rest) - point - 1
	}
	if text[0] == '-' {
		n = -n
	}
	return n, scale, true
}

func (d *decimal) parseAny(text []byte, x *arith) error {
	var buf [celltype.MaxDigits]byte
	negative, digits, scale, why := celltype.SplitDecimal(text, &buf)
	if why == "" && (scale > keygen.MaxScale || len(digits) > 0 && int64(len(digits))-scale > celltype.MaxDigits) {
		why = "has more than 1000 digits"
	}
	if why != "" {
		return celltype.ValueError(text, why)
	}
	n, next := &x.t, &x.u
	n.SetInt64(0)
	for len(digits) > 0 {
		part := digits[:min(18, len(digits))]
		digits = digits[len(part):]
		v := int64(0)
		for _, c := range part {
			v = v*10 + int64(c)
		}
		next.Mul(n, x.pow(len(part)))
		n, next = next, n
		n.Add(n, x.b.SetInt64(v))
	}
	if scale < 0 && n.Sign() != 0 {
		next.Mul(n, x.pow(int(-scale)))
		n = next
	}
	if negative {
		n.Neg(n)
	}
	return d.setBig(n, int(max(scale, 0)))
}

// append writes the number with all digits of its scale.
func (d *decimal) append(dst []byte, x *arith) []byte {
	if d.sign() < 0 {
		dst = append(dst, '-')
	}
	if !d.wide {
		var buf [20]byte
		return valuetext.AppendPoint(dst, strconv.AppendUint(buf[:0], magnitude(d.small), 10), d.scale)
	}
	var buf [celltype.MaxDigits + 100]byte
	var parts [celltype.MaxDigits/18 + 2]int64 // groups of 18 digits, the lowest first
	n, next, count := x.t.Abs(&d.big), &x.u, 0
	for n.Sign() != 0 {
		next.QuoRem(n, x.pow(18), &x.r)
		parts[count] = x.r.Int64()
		count++
		n, next = next, n
	}
	digits := strconv.AppendInt(buf[:0], parts[count-1], 10)
	for i := count - 2; i >= 0; i-- {
		at := len(digits)
		digits = append(digits, "000000000000000000"...)
		for p, v := len(digits)-1, parts[i]; v > 0 && p >= at; p-- {
			digits[p] = byte('0' + v%10)
			v /= 10
		}
	}
	return valuetext.AppendPoint(dst, digits, d.scale)
}
