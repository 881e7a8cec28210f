package expression

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"bulkload/pkg/keygen"
)

// plain is a value of the oracle: NULL, a text, a number n × 10^-scale, or a condition.
type plain struct {
	null  bool
	text  string
	n     *big.Int // nil: the value is not a number
	scale int
	truth bool
}

// errOracle is the oracle's error for a record without a value; the tests do not compare its message.
var errOracle = errors.New("no value")

// oracle evaluates expressions on a record in the simplest way: it walks the parsed tree, with strings and big integers.
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

// strict passes the values of arguments to f. It returns the first NULL or error, without evaluating later arguments.
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

// numeric is strict for numbers: it parses each argument when it evaluates it.
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

// at returns a number at a scale; halves are rounded away from 0.
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

// compared returns the evaluation of compared values: if one of them is a number, all are read as numbers.
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

// likeForm returns a regular expression for a pattern of like.
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
