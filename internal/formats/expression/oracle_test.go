package expression

import (
	"crypto/md5"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"bulkload/pkg/keygen"
)

// plain is a value as the oracle has it: NULL, a text, a number n × 10^-scale, or a condition.
type plain struct {
	null  bool
	text  string
	n     *big.Int // nil: the value is no number
	scale int
	truth bool
}

// errOracle is that of a record without a value; which one it is does not matter.
var errOracle = errors.New("no value")

// oracle says in the plainest way what an expression is of a record: it walks over what was parsed, with strings and big integers.
type oracle map[string]*string

func (o oracle) value(e keygen.Expr) (plain, error) {
	switch e := e.(type) {
	case keygen.Column:
		if o[e.Name] == nil {
			return plain{null: true}, nil
		}
		return plain{text: *o[e.Name]}, nil
	case keygen.Literal:
		return plain{text: string(e.Bytes)}, nil
	case keygen.Number:
		return number(e.Digits)
	case keygen.Constant:
		return plain{null: e.Word == "null", truth: e.Word == "true"}, nil
	case keygen.Concat:
		return o.strict(e.Parts, func(v []plain) (plain, error) { return plain{text: texts(v)}, nil })
	case keygen.Operation:
		return o.operation(e)
	case keygen.Call:
		return o.call(e)
	}
	return plain{}, fmt.Errorf("a %T", e)
}

// strict is NULL with the first argument that is, and asks no further.
func (o oracle) strict(args []keygen.Expr, f func([]plain) (plain, error)) (plain, error) {
	var list []plain
	for _, a := range args {
		v, err := o.value(a)
		if err != nil || v.null {
			return v, err
		}
		list = append(list, v)
	}
	return f(list)
}

// numeric is strict with numbers: each is read as it is asked for.
func (o oracle) numeric(args []keygen.Expr, f func([]plain) (plain, error)) (plain, error) {
	var list []plain
	for _, a := range args {
		v, err := o.value(a)
		if err == nil && !v.null && v.n == nil {
			v, err = number(v.text)
		}
		if err != nil || v.null {
			return v, err
		}
		list = append(list, v)
	}
	return f(list)
}

var decimalForm = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

func number(s string) (plain, error) {
	if !decimalForm.MatchString(s) {
		return plain{}, errOracle
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n, _ := new(big.Int).SetString(strings.TrimPrefix(whole+fraction, "+"), 10)
	return plain{n: n, scale: len(fraction)}, nil
}

func (p plain) String() string {
	if p.n == nil {
		return p.text
	}
	digits := new(big.Int).Abs(p.n).String()
	for len(digits) <= p.scale {
		digits = "0" + digits
	}
	if p.scale > 0 {
		digits = digits[:len(digits)-p.scale] + "." + digits[len(digits)-p.scale:]
	}
	if p.n.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

func texts(v []plain) string {
	all := ""
	for _, p := range v {
		all += p.String()
	}
	return all
}

func (p plain) rat() *big.Rat {
	return new(big.Rat).SetFrac(p.n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.scale)), nil))
}

// at is a number at a scale, a half rounded away from 0.
func at(r *big.Rat, scale int) plain {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	factor := new(big.Rat).SetInt(ten)
	if scale < 0 {
		factor.Inv(factor)
	}
	x := new(big.Rat).Mul(new(big.Rat).Abs(r), factor)
	x.Add(x, big.NewRat(1, 2))
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if r.Sign() < 0 {
		n.Neg(n)
	}
	if scale < 0 {
		return plain{n: n.Mul(n, ten)}
	}
	return plain{n: n, scale: scale}
}

func compare(a, b plain) int {
	switch {
	case a.n != nil && b.n != nil:
		return a.rat().Cmp(b.rat())
	case a.truth != b.truth:
		return 1
	}
	return strings.Compare(a.text, b.text)
}

// compared are values that are compared: if one is a number, all are.
func (o oracle) compared(args []keygen.Expr) func(args []keygen.Expr, f func([]plain) (plain, error)) (plain, error) {
	for _, a := range args {
		if keygen.KindOf(a) == keygen.KindNumber {
			return o.numeric
		}
	}
	return o.strict
}

func (o oracle) operation(e keygen.Operation) (plain, error) {
	name, not := strings.CutPrefix(e.Name, "not ")
	if e.Name == "not" || e.Name == "is not null" {
		name, not = map[string]string{"not": "", "is not null": "is null"}[e.Name], true
	}
	v, err := o.positive(name, e.Args)
	if not {
		v.truth = !v.truth
	}
	return v, err
}

func (o oracle) positive(name string, args []keygen.Expr) (plain, error) {
	yes := func(b bool) (plain, error) { return plain{truth: b}, nil }
	all := o.compared(args)
	switch name {
	case "":
		return o.value(args[0])
	case "is null":
		v, err := o.value(args[0])
		return plain{truth: v.null}, err
	case "and", "or":
		null := false
		for _, a := range args {
			v, err := o.value(a)
			if err != nil || !v.null && v.truth == (name == "or") {
				return v, err
			}
			null = null || v.null
		}
		return plain{null: null, truth: name == "and"}, nil
	case "case":
		i := 0
		for ; i+1 < len(args); i += 2 {
			if v, err := o.value(args[i]); err != nil {
				return v, err
			} else if v.truth && !v.null {
				return o.value(args[i+1])
			}
		}
		if i < len(args) {
			return o.value(args[i])
		}
		return plain{null: true}, nil
	case "like", "matches":
		form := string(args[1].(keygen.Literal).Bytes)
		if name == "like" {
			form = likeForm(form)
		}
		return o.strict(args[:1], func(v []plain) (plain, error) { return yes(regexp.MustCompile(form).MatchString(v[0].String())) })
	case "in":
		item, err := all(args[:1], func(v []plain) (plain, error) { return v[0], nil })
		if err != nil || item.null {
			return item, err
		}
		null := false
		for _, a := range args[1:] {
			v, err := all([]keygen.Expr{a}, func(v []plain) (plain, error) { return v[0], nil })
			if err != nil || !v.null && compare(item, v) == 0 {
				return plain{truth: true}, err
			}
			null = null || v.null
		}
		return plain{null: null}, nil
	case "between":
		one := func(i, sign int) (plain, error) {
			return all([]keygen.Expr{args[0], args[i]}, func(v []plain) (plain, error) { return yes(compare(v[0], v[1])*sign >= 0) })
		}
		a, err := one(1, 1)
		if err != nil || !a.null && !a.truth {
			return a, err
		}
		if v, err := o.value(args[0]); err != nil || v.null {
			return v, err
		}
		b, err := one(2, -1)
		if err != nil || !b.null && !b.truth {
			return b, err
		}
		return plain{null: a.null || b.null, truth: true}, nil
	}
	signs := map[string][]int{"=": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}[name]
	return all(args, func(v []plain) (plain, error) { return yes(slices.Contains(signs, compare(v[0], v[1]))) })
}

// likeForm is a regular expression of the pattern of like.
func likeForm(pattern string) string {
	form, escaped := `(?s)^`, false
	for _, r := range pattern {
		switch {
		case escaped || r != '%' && r != '_' && r != '\\':
			form, escaped = form+regexp.QuoteMeta(string(r)), false
		case r == '\\':
			escaped = true
		case r == '%':
			form += `.*`
		default:
			form += `.`
		}
	}
	return form + `$`
}

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
