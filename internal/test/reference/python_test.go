package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"

	"github.com/google/go-cmp/cmp"
)

const pythonPackage = "../../../python/bulkload/src/bulkload/"

// TestPythonTypes checks that the Python package has the fields of the published schema, and that the schema has
// those of the program's own results.
func TestPythonTypes(t *testing.T) {
	schema, err := os.ReadFile("../../../docs/result.schema.json")
	testcheck.Must(t, err)
	want, err := PythonTypes(schema)
	testcheck.Must(t, err)
	const file = pythonPackage + "results.py"
	if *update {
		testcheck.Must(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	testcheck.Must(t, err)
	if d := cmp.Diff(string(have), string(want)); d != "" {
		t.Errorf("results.py is stale, make docs writes it again:\n%s", d)
	}
	root := &jsonType{}
	testcheck.Must(t, json.Unmarshal(schema, root))
	golden, err := os.ReadFile("../../model/result/testdata/result.json")
	testcheck.Must(t, err)
	var full any
	testcheck.Must(t, json.Unmarshal(golden, &full))
	for _, lacking := range root.lacks(root, "", full) {
		t.Errorf("docs/result.schema.json lacks %s, or has another type for it", lacking)
	}
}

// lacks lists the fields of a value that its type does not have. A summary has no list of files.
func (s *jsonType) lacks(root *jsonType, at string, v any) (all []string) {
	if s == nil {
		return []string{at}
	}
	if s.Ref != "" {
		place, name := refersTo(s.Ref)
		s = map[string]*jsonType{"$defs": root.Defs[name], "properties": root.Properties[name]}[place]
	}
	if len(s.AnyOf) == 2 {
		return s.AnyOf[1].lacks(root, at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if !strings.HasSuffix(at, "manifest") || name != "files" {
				all = append(all, s.Properties[name].lacks(root, at+"."+name, field)...)
			}
		}
	case []any:
		return s.Items.lacks(root, at, v[0])
	case string:
		if s.Type != "string" && s.Enum == nil {
			return []string{at}
		}
	case float64:
		if s.Type != "integer" && s.Const == nil {
			return []string{at}
		}
	}
	return all
}

// TestPythonErrors checks that the package has an exception for each kind of failure, by its exit code, with its
// name, and with whether a retry may help.
func TestPythonErrors(t *testing.T) {
	b, err := os.ReadFile(pythonPackage + "errors.py")
	testcheck.Must(t, err)
	classes := strings.Split(string(b), "\n\n\nclass ")
	for _, k := range fail.Kinds() {
		retry := map[bool]string{true: "True", false: "False"}[k.Retry()]
		says := fmt.Sprintf("Exit code %d", k.ExitCode())
		is := fmt.Sprintf("kind, retry = %q, %s\n", k, retry)
		if k == fail.Unexpected { // the base class covers it
			is = `kind: ClassVar[str] = "unexpected"`
		}
		at := slices.IndexFunc(classes, func(c string) bool { return strings.Contains(c+"\n", is) })
		if at < 0 {
			t.Errorf("no class has %s", is)
			continue
		}
		name, _, _ := strings.Cut(classes[at], "(")
		if k == fail.Unexpected {
			name = "UnexpectedError"
		} else if !strings.Contains(classes[at], says+":") {
			t.Errorf("%s does not say %s", name, says)
		}
		if !strings.Contains(string(b), fmt.Sprintf("%d: %s", k.ExitCode(), name)) {
			t.Errorf("exit code %d does not raise %s", k.ExitCode(), name)
		}
	}
}
