package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/model/fail"

	"github.com/google/go-cmp/cmp"
)

// written lists plain scalars of YAML that its readers take for something else than text.
var written = []string{"010", "1.50", "007", "1.0", "123456789.50", "+8613800138000", "-0", "0x1F", "0o17", "0b11", "1_000", ".5", "5.", "1e3", "TRUE", "false", "yes", ".inf", "-.INF", ".nan",
	"0.1234567890123456789", "00", "2026-11-01", "2026-11-01T22:00:00Z", "12:30:45", "99999999999999999999", "123456789012345678901234567890.5"}

// inFile maps the form of a text in a job file to the text. %s stands for one of [written].
var inFile = map[string]string{"%s": "%s", "'%s'": "%s", `"%s"`: "%s", `"\t%s"`: "\t%s", "&a %s": "%s", "!!str %s": "%s", "!!int %s": "%s", "%s # comment": "%s", "|-\n%s": "%s"}

// leaf is a field of a job file, within others.
type leaf struct {
	path []string // names; "-" is an element of a list
	typ  reflect.Type
}

// leaves returns the fields of a type that have no fields below them.
func leaves(t *testing.T, typ reflect.Type, path ...string) (all []leaf) {
	t.Helper()
	if typ == reflect.TypeFor[Options]() {
		return nil // see TestParseOptions
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return leaves(t, typ.Elem(), path...)
	case reflect.Slice:
		return leaves(t, typ.Elem(), append(path[:len(path):len(path)], "-")...)
	case reflect.Struct:
		for _, f := range structFields(typ) {
			all = append(all, leaves(t, f.Type, append(path[:len(path):len(path)], f.Tag.Get("yaml"))...)...)
		}
		return all
	case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		return []leaf{{path, typ}}
	}
	t.Fatalf("%s has a type that the test does not know: %s", strings.Join(path, "."), typ)
	return nil
}

// file returns a job file in which the field has a value.
func (l leaf) file(value string) string {
	text, indent := "", ""
	for i, name := range l.path {
		last := i == len(l.path)-1
		switch {
		case name == "-" && last:
			text += indent + "- "
		case name == "-":
			text += indent + "-\n"
		case last:
			text += indent + name + ": "
		default:
			text += indent + name + ":\n"
		}
		indent += "  "
	}
	return text + strings.ReplaceAll(value, "\n", "\n"+indent) + "\n"
}

// of returns the field's value in a spec.
func (l leaf) of(v reflect.Value) reflect.Value {
	for _, name := range l.path {
		if v = reflect.Indirect(v); !v.IsValid() {
			return v
		}
		if name == "-" {
			if v.Len() != 1 {
				return reflect.Value{}
			}
			v = v.Index(0)
		} else {
			v = value(v, name)
		}
	}
	return reflect.Indirect(v)
}

// TestTextsStayAsWritten checks that each text of a job file is the text that was written, as that of its flag is.
func TestTextsStayAsWritten(t *testing.T) {
	texts := 0
	for _, l := range leaves(t, reflect.TypeFor[Spec]()) {
		if l.typ.Kind() != reflect.String {
			continue
		}
		texts++
		for i, text := range written {
			for form, want := range inFile {
				if i > 1 && form != "%s" {
					continue
				}
				form, want = strings.ReplaceAll(form, "%s", text), strings.ReplaceAll(want, "%s", text)
				s, err := ParseSpec("job.yaml", []byte(l.file(form)))
				if err != nil {
					t.Fatalf("%s: %v", l.file(form), err)
				}
				if got := l.of(reflect.ValueOf(s)); !got.IsValid() || got.String() != want {
					t.Errorf("%s is %v, want %s", l.file(form), got, want)
				}
			}
		}
	}
	if texts < 100 {
		t.Errorf("only %d fields are texts", texts)
	}
}

// TestFieldsAreAsTheirFlags checks that a value of a job file and of a flag are the same, or that both are refused.
func TestFieldsAreAsTheirFlags(t *testing.T) {
	for _, f := range SpecFields() {
		if f.Usage == "" || f.Type == FieldBool {
			continue
		}
		for _, text := range append([]string{"5", "2.9", "2.0", "many", "-1", "1e3", "64KiB", "0100", "9223372036854775808"}, written...) {
			var flag Spec
			flagErr := flag.Set(f.Name, []string{text})
			form := text
			if f.Type == FieldTexts {
				form = "[" + text + "]"
			}
			file, err := ParseSpec("job.yaml", []byte("\n"+f.Name+": "+form+"\n"))
			if (err != nil) != (flagErr != nil) {
				t.Errorf("%s: %s: %v, and the flag %v", f.Name, text, err, flagErr)
			} else if err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "job.yaml:2:") || f.Type == FieldNumber && !strings.Contains(err.Error(), f.Name)) {
				t.Errorf("%s: %s: %v", f.Name, text, err)
			} else if err == nil && flag.Text(f) != file.Text(f) {
				t.Errorf("%s: %s is %s, and that of the flag %s", f.Name, text, file.Text(f), flag.Text(f))
			}
		}
	}
}

// TestIntegersOfAJobFile checks that integers are read as they are written, in all fields, and that a fraction is an error with its line and field.
func TestIntegersOfAJobFile(t *testing.T) {
	for _, l := range leaves(t, reflect.TypeFor[Spec]()) {
		if l.typ == reflect.TypeFor[Size]() || l.typ.Kind() != reflect.Int && l.typ.Kind() != reflect.Int64 {
			continue
		}
		for text, want := range map[string]int64{"7": 7, "010": 10, "'8'": 8, "!!int 012": 12, "&a 9": 9, "0": 0, "-3": -3} {
			s, err := ParseSpec("job.yaml", []byte(l.file(text)))
			if err != nil {
				t.Fatalf("%s: %v", l.file(text), err)
			}
			if got := l.of(reflect.ValueOf(s)); !got.IsValid() || got.Int() != want {
				t.Errorf("%s is %v, want %d", l.file(text), got, want)
			}
		}
		for _, text := range []string{"2.9", "2.0", "1e3", "0x1F", "1_000", "many", "true", "''", ".inf", "9223372036854775808"} {
			_, err := ParseSpec("job.yaml", []byte(l.file(text)))
			want := fmt.Sprintf("job.yaml:%d:", len(l.path))
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), l.path[len(l.path)-1]+" takes an integer") {
				t.Errorf("%s: %v", l.file(text), err)
			}
		}
	}
}

// TestNamesForValues checks that a value of a job file may be given a name, and be used again as it was written.
func TestNamesForValues(t *testing.T) {
	s, err := ParseSpec("job.yaml", []byte(`
key: &key 0012
salt_buckets: &n 010
filter: *key
columns: &all [&one 01, 1.50]
query: *all
null_value: *one
cells:
- &cell {value: 007, qualifier: *n}
- *cell
- {<<: *cell, family: *n}
tables:
- {table: t, columns: *all}
options: {workers: *n, input: *all}
`))
	if err != nil {
		t.Fatal(err)
	}
	constant := "007"
	cell := CellSpec{Value: &constant, Qualifier: "010"}
	third := cell
	third.Family = "010"
	all := []string{"01", "1.50"}
	want := Spec{Key: "0012", Regions: 10, Filter: "0012", Columns: all, Query: all, Reading: Reading{NullValue: Texts{"01"}}, Mapping: Mapping{Cells: []CellSpec{cell, cell, third}},
		Tables: []TableSpec{{Table: "t", Columns: all}}, Options: Options{{"workers", []string{"010"}, 14}, {"input", all, 14}}}
	if diff := cmp.Diff(want, *s); diff != "" {
		t.Error(diff)
	}
	b, err := json.Marshal(s.Tables)
	if err != nil || !strings.Contains(string(b), `"columns":["01","1.50"]`) {
		t.Errorf("%s, %v", b, err)
	}
	for text, want := range map[string]string{
		"key: *a\n":                       "line 1",
		"key: &a id\ntable: *b\n":         "job.yaml:2:",
		"columns: &a [x, *a]\n":           "job.yaml:1:",
		"columns: [a, null]\n":            "job.yaml:1:14: null is a keyword of YAML",
		"skip:\n- a\n- ~\n":               "job.yaml:3:3: null is a keyword of YAML",
		"expect: [{values: [a, null]}]\n": "null is a keyword of YAML",
		"columns: [[a]]\n":                "job.yaml:1:",
		"key: id\n1: x\n":                 `unknown field "1"`,
		"key: id\ntrue: x\n":              `unknown field "true"`,
		"key: id\n[a]: x\n":               "job.yaml:2:",
		"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\n" +
			"f: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n": "too many values",
	} {
		if _, err := ParseSpec("job.yaml", []byte(text)); fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), strings.Replace(want, "line 1", "job.yaml:1:", 1)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
