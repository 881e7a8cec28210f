package spec

import (
	"reflect"
	"strings"
	"testing"
)

// TestSpecFields compares the table of fields with the struct that is read.
func TestSpecFields(t *testing.T) {
	compareFields(t, "", reflect.TypeFor[Spec](), SpecFields())
}

func compareFields(t *testing.T, at string, typ reflect.Type, fields []SpecField) {
	t.Helper()
	have := structFields(typ)
	if len(have) != len(fields) {
		t.Errorf("%s has %d fields, the table %d", typ, len(have), len(fields))
	}
	for i, f := range fields {
		if i >= len(have) {
			break
		}
		name, _, _ := strings.Cut(have[i].Tag.Get("yaml"), ",")
		if f.Name != name {
			t.Errorf("field %d of %s is %s, in the table %s", i, typ, name, f.Name)
			continue
		}
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s%s has no text: %q", at, f.Name, f.Doc)
		}
		want := fieldTypes(have[i].Type)
		if !strings.Contains(want, "|"+string(f.Type)+"|") {
			t.Errorf("%s%s is a %s, of type %q in the table", at, f.Name, have[i].Type, f.Type)
		}
		if (f.Type == FieldObject || f.Type == FieldObjects) != (len(f.Fields) > 0) {
			t.Errorf("%s%s has %d fields", at, f.Name, len(f.Fields))
		}
		if len(f.Fields) > 0 {
			compareFields(t, f.Name+".", have[i].Type.Elem(), f.Fields)
		}
	}
}

// structFields returns the fields of a struct, including those of inlined structs.
func structFields(typ reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Tag.Get("yaml") == "-" {
			continue // not a field of job files
		}
		if strings.HasSuffix(f.Tag.Get("yaml"), ",inline") {
			fields = append(fields, structFields(f.Type)...)
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

func fieldTypes(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[Size]():
		return "|size|"
	case reflect.TypeFor[Options]():
		return "|settings|"
	case reflect.TypeFor[*int64](): // nil: not set
		return "|number|"
	case reflect.TypeFor[*string]():
		return "|text or number|"
	}
	switch t.Kind() {
	case reflect.String:
		return "|text|text or number|"
	case reflect.Int, reflect.Int64:
		return "|number|"
	case reflect.Bool:
		return "|true or false|"
	case reflect.Pointer:
		return "|object|"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "|list of objects|"
		}
		return "|list of texts|"
	}
	return ""
}

// TestEnums compares the lists of allowed texts with the texts that Validate and
// ApplyTo accept.
func TestEnums(t *testing.T) {
	for _, f := range SpecFields() {
		if len(f.Enum) == 0 {
			continue
		}
		for _, v := range append(f.Enum, "nonsense") {
			s := Spec{Key: "id"}
			switch v {
			case "rest":
				s.Quote = none
			case "versions":
				s.CellTimestamp = &TimeColumn{Column: "at"}
			case "fixed":
				s.Positions = Texts{"id=1-10"}
			}
			fields := structFields(reflect.TypeFor[Spec]())
			for _, sf := range fields {
				if sf.Tag.Get("yaml") == f.Name {
					reflect.ValueOf(&s).Elem().FieldByName(sf.Name).SetString(v)
				}
			}
			_, err := s.Resolve()
			if err == nil {
				_, err = s.ApplyTo(DefaultFamily("f"))
			}
			if (err != nil) != (v == "nonsense") {
				t.Errorf("%s: %s: %v", f.Name, v, err)
			}
		}
	}
}

// TestOneText compares the fields that may have one text instead of a list with the types that take it.
func TestOneText(t *testing.T) {
	for _, f := range SpecFields() {
		if v := value(reflect.ValueOf(&Spec{}).Elem(), f.Name); f.One != (v.IsValid() && v.Type() == reflect.TypeFor[Texts]()) {
			t.Errorf("%s: One is %t", f.Name, f.One)
		}
	}
}
