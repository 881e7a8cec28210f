package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestFirstPaths checks that the columns of a file without names are the members of its first lines.
func TestFirstPaths(t *testing.T) {
	for _, c := range []struct {
		text  string
		last  bool
		paths string // in order, separated by blanks
		err   string
	}{
		{"", true, "", ""},
		{`{"a":1`, false, "", ""}, // no complete line
		{`{"a":1,"b":"x"}`, true, "a b", ""},
		{"{\"a\":1}\n{\"b\":2,\"a\":null}\n", false, "a b", ""},
		{"\n  \n{\"a\":1}\n", false, "a", ""},
		{"{\"a\":{\"b\":1,\"c\":{\"d\":2}}}\n", false, "a.b a.c.d", ""},
		{"{\"a\":null}\n{\"a\":{\"b\":1}}\n{\"a\":{}}\n", false, "a.b", ""}, // null and empty objects do not add a column
		{"{\"a\":7}\n{\"a\":{\"b\":1}}\n", false, "a", ""},                  // a value and an object: as a whole
		{"{\"a\":{\"b\":1}}\n{\"a\":[1]}\n", false, "a", ""},
		{"{\"a.b\":1}\n", false, "a.b", ""},
		{"{\"a.b\":1,\"a\":{\"c\":2}}\n", false, `a\.b a.c`, ""},
		{"{\"a.c\":1,\"a.b\":2}\n", false, "a.c a.b", ""}, // names with one first part
		{"{\"a.b.c\":1,\"a.b\":2,\"b.a\":3}\n", false, "a.b.c a.b b.a", ""},
		{"{\"a.c\":1,\"b.c\":2,\"a.b\":3}\n{\"b\":{\"d\":4}}\n", false, `a.c b\.c a.b b.d`, ""},
		{"{\"a\":1}\n{oops}\n{\"b\":1}\n", false, "a b", ""}, // faulty lines are ignored here and reported by the reader
		{"{oops}\n", false, "", "no line of the first 1000 has paths to take for columns: line 1"},
		{"{}\n{}\n", false, "", "the objects of its first lines are empty"},
	} {
		paths, err := FirstPaths([]byte(c.text), c.last, nil)
		if got := strings.Join(paths, " "); got != c.paths || c.err == "" && err != nil || c.err != "" && !strings.HasPrefix(fmt.Sprint(err), c.err) {
			t.Errorf("%q: %s, %v; want %s %s", c.text, got, err, c.paths, c.err)
		}
	}
	if _, err := FirstPaths([]byte("[\n{\"a\":1}\n]\n"), true, nil); !errors.Is(err, ErrWholeFile) {
		t.Errorf("an array: %v", err)
	}
	upper := func(line []byte) []byte { return bytes.ToUpper(line) }
	if paths, err := FirstPaths([]byte("{\"a\":1}\n"), true, upper); err != nil || !slices.Equal(paths, []string{"A"}) {
		t.Errorf("decoded: %v, %v", paths, err)
	}
	var many, late strings.Builder
	for i := range maxPaths + 1 {
		fmt.Fprintf(&many, "{\"m%d\":1,\"n%[1]d\":1,\"o%[1]d\":1,\"p%[1]d\":1,\"q%[1]d\":1,\"r%[1]d\":1,\"s%[1]d\":1,\"t%[1]d\":1,\"u%[1]d\":1,\"v%[1]d\":1,\"w%[1]d\":1,\"x%[1]d\":1,\"y%[1]d\":1,\"z%[1]d\":1,\"aa%[1]d\":1,\"bb%[1]d\":1,\"cc%[1]d\":1}\n", i)
	}
	if _, err := FirstPaths([]byte(many.String()), true, nil); err == nil || !strings.Contains(err.Error(), "more than 16384 different members") {
		t.Error(err)
	}
	for i := range firstLines + 1 {
		fmt.Fprintf(&late, "{\"a\":1%s}\n", map[bool]string{true: ",\"late\":1"}[i == firstLines])
	}
	if paths, err := FirstPaths([]byte(late.String()), true, nil); err != nil || !slices.Equal(paths, []string{"a"}) {
		t.Errorf("a member after the first lines: %v, %v", paths, err)
	}
}

func TestSameMember(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{"a", "a", true}, {`a\.b`, "a.b", true}, {"a.b", `a\.b`, true}, {"a.b", "a.c", false}, {"a", "a.b", false}} {
		if SameMember(c.a, c.b) != c.same {
			t.Errorf("%s and %s: %t", c.a, c.b, !c.same)
		}
	}
}
