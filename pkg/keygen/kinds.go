package keygen

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/pkg/setting"
)

// Kind is the type of an expression's values.
type Kind uint8

// Kinds of values. A column is text.
const (
	KindNull Kind = iota // null alone, which fits every kind
	KindText
	KindNumber // exact decimals; whole ones have no point
	KindBoolean
)

func (k Kind) String() string {
	return setting.Word("Kind", k, "null", "text", "a number", "a condition")
}

// KindOf returns the kind of an expression that [ParseValue] returned.
func KindOf(e Expr) Kind {
	switch e := e.(type) {
	case Number:
		return KindNumber
	case Constant:
		if e.Word == "null" {
			return KindNull
		}
		return KindBoolean
	case Operation:
		if e.Name != "case" {
			return KindBoolean
		}
		k, _ := joint(results(e), e.Name)
		return k
	case Call:
		if f, ok := findValueFunction(e.Func); ok {
			k, _ := f.kind(e)
			return k
		}
		if f, ok := findFunction(e.Func); ok && f.number != nil {
			return KindNumber
		}
	}
	return KindText
}

// results returns the values that a case can have.
func results(o Operation) []Expr {
	var list []Expr
	for i := 1; i < len(o.Args); i += 2 {
		list = append(list, o.Args[i])
	}
	if len(o.Args)%2 == 1 {
		list = append(list, o.Args[len(o.Args)-1])
	}
	return list
}

// joint returns the kind of an expression that results in one of several values: their common kind, or text if they mix numbers and text.
func joint(list []Expr, name string) (Kind, error) {
	return oneKind(kindsOf(list), KindText, "%s cannot give both %s and %s", name)
}

// oneKind returns the common kind of values, or mixed if there are numbers and text. A mix with conditions is an error with the given format.
func oneKind(kinds []Kind, mixed Kind, format, name string) (Kind, error) {
	k := KindNull
	for i, next := range kinds {
		switch {
		case next == KindNull || next == k:
		case k == KindNull:
			k = next
		case next == KindBoolean || k == KindBoolean:
			return k, argErrorf(i, format, name, k, next)
		default:
			k = mixed
		}
	}
	return k, nil
}

// compared returns the kind that values are converted to before they are compared: numbers if one of them is a number.
func compared(list []Expr, name string) (Kind, error) { return comparedKinds(kindsOf(list), name) }

func comparedKinds(kinds []Kind, name string) (Kind, error) {
	return oneKind(kinds, KindNumber, "%s cannot compare %s with %s", name)
}

// kindsOf returns the kind of each value. Callers use it to compute each kind only once, because the kind of a call depends on its arguments.
func kindsOf(list []Expr) []Kind {
	kinds := make([]Kind, len(list))
	for i, e := range list {
		kinds[i] = KindOf(e)
	}
	return kinds
}

// Compared returns the kind that the arguments of a comparison, or of nullif, least or greatest, are converted to before they are compared.
func Compared(args []Expr) Kind {
	k, _ := compared(args, "")
	return k
}

// checkOperation rejects arguments that do not fit an operation.
func checkOperation(o Operation) error {
	switch o.Name {
	case "like", "not like", "matches", "not matches":
		return noCondition(o.Args[:1], o.Name)
	}
	k, err := compared(o.Args, o.Name)
	if err == nil && k == KindBoolean && !slices.Contains([]string{"=", "!=", "in", "not in"}, o.Name) {
		err = argErrorf(0, "%s has no order for conditions", o.Name)
	}
	return err
}

// noCondition rejects conditions where text or numbers are required.
func noCondition(args []Expr, name string) error {
	for i, a := range args {
		if KindOf(a) == KindBoolean {
			return argErrorf(i, "%s takes text, and this is a condition: write case when … then … end", name)
		}
	}
	return nil
}

// checkConcat rejects a + that was meant as an addition.
func checkConcat(parts []Expr) error {
	if err := noCondition(parts, "+"); err != nil {
		return err
	}
	for _, p := range parts {
		if KindOf(p) != KindNumber {
			return nil
		}
	}
	return argErrorf(1, "+ joins texts: write add(…) for a sum")
}

// verifyValue checks a call of a key function in a value.
func (f function) verifyValue(c Call) error {
	if f.salts && len(c.Ints) == 0 {
		return errors.New(f.name + " needs its n in a cell or a filter, which have no number of salts")
	}
	return noCondition(c.Args, f.name)
}

// takes begins the check of a call of a value function: its number of arguments, and how many of them, from the first on, are texts or
// numbers.
func takes(f *function, c Call, least, most, plain int) error {
	if n := len(c.Args); n < least || most >= 0 && n > most {
		return fmt.Errorf("%s has %d arguments: it is written %s", f.name, n, f.form)
	}
	return noCondition(c.Args[:min(plain, len(c.Args))], f.name)
}

// checkInteger rejects an argument that is not a literal whole number within the bounds.
func checkInteger(c Call, at, least, most int) error {
	if n, ok := WholeNumber(c.Args[at]); !ok || n < least || n > most {
		return argErrorf(at, "%s is not a whole number of %d to %d", excerpt(c.Args[at].String()), least, most)
	}
	return nil
}

// WholeNumber returns the number of an expression that is a literal number without a point.
func WholeNumber(e Expr) (n int, ok bool) {
	d, ok := e.(Number)
	if !ok || len(d.Digits) > 9 {
		return 0, false
	}
	_, err := fmt.Sscanf(d.Digits+"\n", "%d\n", &n)
	return n, err == nil && fmt.Sprint(n) == d.Digits
}
