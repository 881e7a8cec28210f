package expression

import (
	"os"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// testSalt is the secret of salted(x) in tests.
var testSalt = []byte("0123456789abcdef")

// page is docs/mapping.md: its record and its examples.
type page struct {
	text     string
	record   map[string][]byte
	examples [][2]string // the expression, and its value in the notation of the page
}

func readPage(t testing.TB) (p page) {
	t.Helper()
	b, err := os.ReadFile("../../../docs/mapping.md")
	testcheck.Must(t, err)
	p.text, p.record = string(b), map[string][]byte{}
	_, rest, _ := strings.Cut(p.text, "\n### Examples\n")
	rest, _, _ = strings.Cut(rest, "\n### ")
	header := ""
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 {
			cells = strings.SplitN(strings.TrimSpace(line), " |", 2)
		}
		left, ok := strings.CutPrefix(cells[0], "| ")
		if !ok || len(cells) != 2 {
			continue
		}
		right := strings.TrimSuffix(strings.TrimSuffix(cells[1], "|"), " ")
		name, quoted := strings.CutPrefix(left, "`")
		if !quoted {
			header = left
			continue
		}
		name = strings.TrimSuffix(name, "`")
		if header != "column" {
			p.examples = append(p.examples, [2]string{name, right})
		} else if right != "NULL" {
			p.record[name] = []byte(strings.Trim(right, "`"))
		} else {
			p.record[name] = nil
		}
	}
	return p
}

// program compiles an expression, and returns it with its fields of a record.
func program(t testing.TB, text string, record map[string][]byte) (*Program, [][]byte) {
	t.Helper()
	e, err := keygen.ParseValue(text)
	testcheck.Must(t, err)
	p, err := Compile(e, Options{Now: 1483203661000, Salt: testSalt})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, record[c])
	}
	return p, fields
}

// TestPage runs the examples of the page, and compares its functions with the table in the code.
func TestPage(t *testing.T) {
	p := readPage(t)
	if len(p.record) != 8 || len(p.examples) < 50 {
		t.Fatalf("the page has %d columns and %d examples", len(p.record), len(p.examples))
	}
	var all strings.Builder
	for _, x := range p.examples {
		all.WriteString(x[0] + "\n")
		program, fields := program(t, x[0], p.record)
		out, null, err := program.Append(nil, fields)
		got := "`" + string(out) + "`"
		if null {
			got = "NULL"
		} else if len(out) == 0 {
			got = "empty"
		}
		if err != nil || got != x[1] {
			t.Errorf("%s is %s, %v, want %s", x[0], got, err, x[1])
		}
	}
	for _, f := range keygen.ValueFunctions() {
		if row := "| `" + f.Form + "` | " + f.About + " |\n"; !strings.Contains(p.text, row) {
			t.Errorf("the page lacks %s", row)
		}
		name, _, _ := strings.Cut(f.Form, "(")
		if !strings.Contains(all.String(), name+"(") {
			t.Errorf("function %s has no example", name)
		}
	}
}

// TestNothingAllocates checks that evaluating an expression for a record allocates nothing.
func TestNothingAllocates(t *testing.T) {
	p := readPage(t)
	for _, x := range append(p.examples, [2]string{"add(99999999999999999999.5, amount)"}, [2]string{"divide(multiply(amount, 99999999999999999999), 3, 4) > 5"}) {
		program, fields := program(t, x[0], p.record)
		dst := make([]byte, 0, 1000)
		if n := testing.AllocsPerRun(50, func() { dst, _, _ = program.Append(dst[:0], fields) }); n != 0 {
			t.Errorf("%s: %v allocations", x[0], n)
		}
	}
}
