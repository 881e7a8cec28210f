package keygen

import (
	"errors"
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
