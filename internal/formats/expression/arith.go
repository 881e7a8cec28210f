package expression

import (
	"cmp"
	"errors"
	"math/big"
)

// errZero is the error of a division by 0.
var errZero = errors.New("division by 0: nullif(b, 0) makes it NULL")

// atScale returns n for a number n × 10^-scale. The scale is not less than the number's own.
func (x *arith) atScale(d *decimal, scale int, to, tmp *big.Int) *big.Int {
	n := d.whole(tmp)
	if scale == d.scale {
		return n
	}
	return to.Mul(n, x.pow(scale-d.scale))
}

// smallAt is atScale in 64 bits; ok is false if the result does not fit.
func smallAt(d *decimal, scale int) (int64, bool) {
	if d.wide || scale-d.scale > 18 {
		return 0, false
	}
	if scale == d.scale {
		return d.small, true
	}
	return times(d.small, pow10(scale-d.scale))
}

// compare orders two numbers: 1.5 and 1.50 are equal.
func (x *arith) compare(a, b *decimal) int {
	scale := max(a.scale, b.scale)
	m, okA := smallAt(a, scale)
	n, okB := smallAt(b, scale)
	if okA && okB {
		return cmp.Compare(m, n)
	}
	return x.atScale(a, scale, &x.t, &x.a).Cmp(x.atScale(b, scale, &x.u, &x.b))
}

// add sets out to a+b. In all functions of this file, out may be one of the arguments.
func (x *arith) add(out, a, b *decimal) error {
	scale := max(a.scale, b.scale)
	m, okA := smallAt(a, scale)
	n, okB := smallAt(b, scale)
	if okA && okB {
		if s, ok := plus(m, n); ok {
			out.set(s, scale)
			return nil
		}
	}
	return out.setBig(x.r.Add(x.atScale(a, scale, &x.t, &x.a), x.atScale(b, scale, &x.u, &x.b)), scale)
}

func (x *arith) subtract(out, a, b *decimal) error {
	scale := max(a.scale, b.scale)
	m, okA := smallAt(a, scale)
	n, okB := smallAt(b, scale)
	if okA && okB {
		if s, ok := plus(m, -n); ok {
			out.set(s, scale)
			return nil
		}
	}
	return out.setBig(x.r.Sub(x.atScale(a, scale, &x.t, &x.a), x.atScale(b, scale, &x.u, &x.b)), scale)
}

// multiply sets out to a×b. Its scale is the sum of both scales.
func (x *arith) multiply(out, a, b *decimal) error {
	if !a.wide && !b.wide {
		if p, ok := times(a.small, b.small); ok && a.scale+b.scale <= 18 {
			out.set(p, a.scale+b.scale)
			return nil
		}
	}
	return out.setBig(x.r.Mul(a.whole(&x.a), b.whole(&x.b)), a.scale+b.scale)
}

// divide sets out to a/b, rounded to a scale, half away from 0.
func (x *arith) divide(out, a, b *decimal, scale int) error {
	if b.sign() == 0 {
		return errZero
	}
	// a/b at the scale is a × 10^up / b, computed with whole numbers.
	up := scale + b.scale - a.scale
	if !a.wide && !b.wide && up >= -18 && up <= 18 {
		m, n, ok := a.small, b.small, false
		if up >= 0 {
			m, ok = times(m, pow10(up))
		} else {
			n, ok = times(n, pow10(-up))
		}
		if ok {
			q, r := m/n, m%n
			if magnitude(r) >= magnitude(n)-magnitude(r) {
				q += sign(m) * sign(n)
			}
			out.set(q, scale)
			return nil
		}
	}
	m, n := a.whole(&x.a), b.whole(&x.b)
	if up >= 0 {
		m = x.t.Mul(m, x.pow(up))
	} else {
		n = x.t.Mul(n, x.pow(-up))
	}
	signs := m.Sign() * n.Sign()
	x.u.QuoRem(m, n, &x.r)
	x.r.Abs(x.r.Lsh(&x.r, 1))
	if x.r.CmpAbs(n) >= 0 {
		x.u.Add(&x.u, x.b.SetInt64(int64(signs)))
	}
	return out.setBig(&x.u, scale)
}

// round rounds a number to scale digits after the point, half away from 0, or pads it to them. A negative scale rounds to tens, hundreds and so on.
func (x *arith) round(out, a *decimal, scale int) error {
	if scale >= a.scale {
		if n, ok := smallAt(a, scale); ok {
			out.set(n, scale)
			return nil
		}
		return out.setBig(x.atScale(a, scale, &x.t, &x.a), scale)
	}
	unit := &x.unit
	unit.set(1, 0)
	if scale >= 0 {
		return x.divide(out, a, unit, scale)
	}
	if -scale > 18 {
		if err := unit.setBig(x.pow(-scale), 0); err != nil {
			return err
		}
	} else {
		unit.set(pow10(-scale), 0)
	}
	if err := x.divide(out, a, unit, 0); err != nil {
		return err
	}
	return x.multiply(out, out, unit)
}

// negate sets d to -a.
func (d *decimal) negate(a *decimal) {
	if !a.wide {
		d.set(-a.small, a.scale)
		return
	}
	d.big.Neg(&a.big)
	d.scale, d.wide = a.scale, true
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}
