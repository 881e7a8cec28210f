package spec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// value returns the struct field for a field of a job file. It also finds fields of inlined structs.
func value(of reflect.Value, name string) reflect.Value {
	for i := range of.NumField() {
		tag, inline := strings.CutSuffix(of.Type().Field(i).Tag.Get("yaml"), ",inline")
		if inline {
			if v := value(of.Field(i), name); v.IsValid() {
				return v
			}
		} else if tag == name {
			return of.Field(i)
		}
	}
	return reflect.Value{}
}

// Set sets a field from the texts of a flag: one text, or several of a list.
func (s *Spec) Set(name string, texts []string) error {
	v := value(reflect.ValueOf(s).Elem(), name)
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.ValueOf(slices.Clone(texts)).Convert(v.Type()))
		return nil
	case reflect.Pointer: // pointer to a number, nil if the setting is empty
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if size, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return size.UnmarshalText([]byte(texts[0]))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[0])
	case reflect.Bool:
		b, err := strconv.ParseBool(texts[0])
		v.SetBool(b)
		return err
	default:
		n, err := strconv.ParseInt(texts[0], 10, 64)
		v.SetInt(n)
		return err
	}
	return nil
}

// Texts returns the elements of a list of texts, or the one text of a text field.
func (s *Spec) Texts(name string) []string {
	v := value(reflect.ValueOf(s).Elem(), name)
	if v.Kind() == reflect.Slice {
		return v.Convert(reflect.TypeFor[[]string]()).Interface().([]string)
	}
	return []string{v.String()}
}

// FieldOf returns the field of a job file with the given name.
func FieldOf(name string) (SpecField, bool) {
	for _, f := range specFields {
		if f.Name == name {
			return f, true
		}
	}
	return SpecField{}, false
}

// Text returns the value of a field in the form of its flag, as JSON if it has no flag, and empty if it is not set.
func (s *Spec) Text(f SpecField) string {
	if f.Type == FieldTexts && f.Usage != "" {
		if f.Commas && !f.Repeated {
			return strings.Join(s.Texts(f.Name), ",")
		}
		return strings.Join(s.Texts(f.Name), ", ")
	}
	v := reflect.Indirect(value(reflect.ValueOf(s).Elem(), f.Name))
	if !v.IsValid() || v.Kind() == reflect.Slice && v.IsNil() {
		return ""
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Struct {
		return fmt.Sprint(v.Interface())
	}
	b, _ := json.Marshal(v.Interface()) // texts and numbers, which always marshal
	return string(b)
}

// by returns a check that reports the error of parse for a field's text.
func by[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// complete fills in the defaults, and returns the errors of fields that can be checked one by one.
func (s *Spec) complete() (errs []error) {
	for _, f := range specFields {
		var err error
		switch v := value(reflect.ValueOf(s).Elem(), f.Name); {
		case v.Kind() == reflect.String && v.String() == "":
			if f.Fill {
				v.SetString(f.Default)
			}
		case v.Kind() == reflect.String && f.Check != nil:
			err = f.Check(v.String())
		case v.Kind() == reflect.String && len(f.Enum) > 0 && !slices.Contains(f.Enum, v.String()):
			err = fmt.Errorf("%q is invalid: want one of %s", v.String(), strings.Join(f.Enum, ", "))
		case f.Type == FieldNumber:
			if v.Kind() == reflect.Pointer {
				v = v.Elem()
			}
			if v.IsValid() && v.Int() < 0 {
				err = fmt.Errorf("%d is below 0", v.Int())
			}
		}
		if err != nil {
			errs = append(errs, &FieldError{f.Name, err})
		}
	}
	return errs
}
