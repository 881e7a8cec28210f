package keygen

import (
	"errors"
	"sync"
)

// MaxScale limits the digits after the point of a number in a value, and MaxWidth the characters that a text is padded to.
const (
	MaxScale = 1000
	MaxWidth = 1 << 20
)

// valueLanguage holds the functions of values, like language, which holds the functions of keys.
var valueLanguage struct {
	once      sync.Once
	functions []function
}

// valueFunctions returns the functions that cells and filters have in addition to those of keys, or in place of one with the same name. The
// list is shared and must not be changed.
func valueFunctions() []function {
	valueLanguage.once.Do(func() { valueLanguage.functions = listValueFunctions() })
	return valueLanguage.functions
}

func listValueFunctions() []function {
	var list []function
	add := func(name, form, about string, kind func(f *function, c Call) (Kind, error)) {
		f := function{name: name, form: form, about: about}
		f.kind = func(c Call) (Kind, error) { return kind(&f, c) }
		list = append(list, f)
	}
	// gives returns the check of a function of the given kind: it has least to most arguments, all of them texts or numbers, and passes more.
	gives := func(k Kind, least, most int, more ...func(Call) error) func(*function, Call) (Kind, error) {
		return func(f *function, c Call) (Kind, error) {
			err := takes(f, c, least, most, len(c.Args))
			for _, check := range more {
				if err == nil {
					err = check(c)
				}
			}
			return k, err
		}
	}
	scale := func(at, least int) func(Call) error {
		return func(c Call) error { return checkInteger(c, at, least, MaxScale) }
	}
	either := func(kind func(args []Expr, name string) (Kind, error), least, most int) func(*function, Call) (Kind, error) {
		return func(f *function, c Call) (Kind, error) {
			if err := takes(f, c, least, most, 0); err != nil {
				return KindNull, err
			}
			return kind(c.Args, f.name)
		}
	}

	add("coalesce", "coalesce(a, …)", "the first that is not NULL", either(joint, 1, -1))
	add("nullif", "nullif(a, b)", "NULL if a = b, else a", func(f *function, c Call) (Kind, error) {
		if err := takes(f, c, 2, 2, 0); err != nil {
			return KindNull, err
		}
		kinds := kindsOf(c.Args)
		_, err := comparedKinds(kinds, f.name)
		return kinds[0], err
	})
	add("concat", "concat(a, …)", "the texts joined, without those that are NULL; a + b is NULL if one of them is", gives(KindText, 1, -1))
	add("replace", "replace(e, from, to)", "each from in the text replaced by to; an empty from changes nothing", gives(KindText, 3, 3))
	add("substr", "substr(e, from [, count])", "characters from the given one, counted from 0, or from the end if it is negative; fewer where the text is shorter (in a key that is an error)",
		gives(KindText, 2, 3, func(c Call) error {
			err := checkInteger(c, 1, -MaxWidth, MaxWidth)
			if err == nil && len(c.Args) > 2 {
				err = checkInteger(c, 2, 0, MaxWidth)
			}
			return err
		}))
	pad := gives(KindText, 3, 3, func(c Call) error {
		if l, ok := c.Args[2].(Literal); !ok || len(l.Bytes) == 0 {
			return argErrorf(2, "the fill is a text in quotes that is not empty")
		}
		return checkInteger(c, 1, 0, MaxWidth)
	})
	add("lpad", "lpad(e, width, 'fill')", "the fill before the text, up to the width in characters; a longer text is cut at its end", pad)
	add("rpad", "rpad(e, width, 'fill')", "the fill after the text, up to the width in characters; a longer text is cut at its end", pad)
	add("ltrim", "ltrim(e)", "without spaces and control characters at the beginning", gives(KindText, 1, 1))
	add("rtrim", "rtrim(e)", "without spaces and control characters at the end", gives(KindText, 1, 1))
	add("json", "json(e, '$.path')", "what the path leads to in a JSON text, as text: $.a.b[0] or $[\"a b\"]; NULL where it is null or absent", gives(KindText, 2, 2, func(c Call) error {
		if _, ok := c.Args[1].(Literal); !ok {
			return argErrorf(1, "the path is a text in quotes, such as '$.a.b[0]'")
		}
		return nil
	}))
	add("salted", "salted(e)", "the HMAC-SHA-256 of the text by the secret in `salt_file`, as 64 hexadecimal digits", gives(KindText, 1, 1))

	add("length", "length(e)", "how many characters", gives(KindNumber, 1, 1))
	add("decimal", "decimal(e)", "a text read as a number", gives(KindNumber, 1, 1))
	add("add", "add(a, b, …)", "the exact sum", gives(KindNumber, 2, -1))
	add("subtract", "subtract(a, b)", "the exact difference", gives(KindNumber, 2, 2))
	add("multiply", "multiply(a, b, …)", "the exact product", gives(KindNumber, 2, -1))
	add("divide", "divide(a, b, scale)", "the quotient with so many digits after the point, a half rounded away from 0; division by 0 makes the record bad", gives(KindNumber, 3, 3, scale(2, 0)))
	add("round", "round(a, scale)", "the number with so many digits after the point, a half rounded away from 0; with −2, hundreds", gives(KindNumber, 2, 2, scale(1, -MaxScale)))
	add("abs", "abs(a)", "the absolute value", gives(KindNumber, 1, 1))
	add("negate", "negate(a)", "the number with the other sign", gives(KindNumber, 1, 1))
	order := func(f *function, c Call) (Kind, error) {
		k, err := either(compared, 2, -1)(f, c)
		if err == nil && k == KindBoolean {
			err = argErrorf(0, "%s has no order for conditions", f.name)
		}
		return k, err
	}
	add("least", "least(a, b, …)", "the least, in the order that < has", order)
	add("greatest", "greatest(a, b, …)", "the greatest, in the order that > has", order)
	add("now", "now()", "the job's timestamp in milliseconds since 1970, the same in every attempt: date(now(), 'unixms', 'yyyy-MM-dd')", func(_ *function, c Call) (Kind, error) {
		if len(c.Args) > 0 {
			return KindNumber, errors.New("now() has no arguments")
		}
		return KindNumber, nil
	})
	return list
}

func findValueFunction(name string) (function, bool) { return functionIn(valueFunctions(), name) }

// ValueFunctions returns the functions that cells and filters have in addition to those of keys, in the order of docs/mapping.md.
func ValueFunctions() []Function { return documented(valueFunctions()) }

// KeyFunction reports whether a call is of a function that keys also have, with the same meaning.
func KeyFunction(c Call) bool {
	_, own := findValueFunction(c.Func)
	_, ok := findFunction(c.Func)
	return ok && !own
}
