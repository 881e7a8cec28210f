package keygen

import (
	"errors"
	"strings"
	"testing"
)

// TestMisuseIsAnError checks that what a program can do wrong with the exported functions is an error, or harmless, and no panic.
func TestMisuseIsAnError(t *testing.T) {
	whole, err := Parse("salt(a, 10) + b")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(whole, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dst := []byte("x")
	for _, fields := range [][][]byte{nil, {[]byte("1")}} {
		key, err := p.Append(dst, fields)
		if _, ok := errors.AsType[*FieldError](err); !ok || string(key) != "x" {
			t.Errorf("%d fields: %q, %v", len(fields), key, err)
		}
		key, ends, err := p.AppendParts(dst, nil, fields)
		if _, ok := errors.AsType[*FieldError](err); !ok || string(key) != "x" || len(ends) > 0 {
			t.Errorf("%d fields, in parts: %q, %d, %v", len(fields), key, ends, err)
		}
	}
	keys, err := CompileParser(whole, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Parse([]byte("1b"), nil); err == nil || errors.Is(err, ErrForeignKey) {
		t.Error(err)
	}
	if err := new(KeyParser).Parse([]byte("1b"), nil); err == nil {
		t.Error("a parser of no spec parses a key")
	}
	for text, e := range map[string]Expr{"<nil>": nil, "<nil> + <nil>": Concat{[]Expr{nil, nil}}, "md5hex(<nil>)": Call{Func: "md5hex", Args: []Expr{nil}}, "not <nil>": Operation{"not", []Expr{nil}}} {
		if e != nil && e.String() != text || len(Columns(e)) > 0 || Calls(e, "x") || NeedsRegions(e) {
			t.Errorf("%s: columns %q", e, Columns(e))
		}
		if _, err := Compile(e, Options{}); err == nil {
			t.Errorf("%s is compiled", text)
		}
		if _, err := CompileParser(e, Options{}); err == nil {
			t.Errorf("%s has a parser", text)
		}
		if _, err := Check(e, CheckOptions{}); err == nil && Parts(e)[0] == nil {
			t.Errorf("%s is checked", text)
		}
		if err := CheckBound(e, []byte("x"), false); err != nil || CheckValue(e, nil) != nil || WholeDate(e, []byte("x")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var d Dates
	if _, _, err := d.Parse([]byte("2026")); !errors.Is(err, ErrDate) {
		t.Error(err)
	}
	if out, err := d.Append(dst, 1, 0); err == nil || string(out) != "x" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestCallsByHand checks that a call that a program has built, without arguments that its function needs or with others than it takes, is an error that
// names the function wherever an error is returned, and no panic elsewhere.
func TestCallsByHand(t *testing.T) {
	id := Column{Name: "id"}
	var calls []Expr
	for _, f := range functions() {
		calls = append(calls, Call{Func: f.name})
		if f.ints[0] > 0 || f.consts[0] > 0 {
			calls = append(calls, Call{Func: f.name, Args: []Expr{id}})
		}
		if !f.joins {
			calls = append(calls, Call{Func: f.name, Args: []Expr{id, id}})
		}
	}
	calls = append(calls, Call{Func: "mod", Args: []Expr{id}, Ints: []int{0}}, Call{Func: "date", Args: []Expr{id, Literal{[]byte("yyyy")}, nil}})
	for _, c := range calls {
		for _, e := range []Expr{c, Concat{[]Expr{id, c}}, Call{Func: "md5hex", Args: []Expr{c}}} {
			name := c.(Call).Func + "("
			if _, err := Compile(e, Options{}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is compiled: %v", e, err)
			}
			if _, err := CompileParser(e, Options{}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s has a parser: %v", e, err)
			}
			if _, err := Check(e, CheckOptions{}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is checked: %v", e, err)
			}
			_, _, _ = CheckBound(e, []byte("1"), false), CheckValue(e, nil), WholeDate(e, []byte("1"))
			_ = KindOf(e)
		}
	}
}
