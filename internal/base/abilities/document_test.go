package abilities

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/abilities.md again")

const documentHead = `# What goes with what

<!-- Written from internal/base/abilities by make docs: change it there. -->

The abilities of each kind of work. A test shows each *yes*. The reason of a *no* is the program's message if a command can request the combination.

- **part**: a part of it is refused, for the reason below.
- **no**: it is refused, has no meaning, or does not exist, for the reason below.

`

// flagged returns a setting in the form of the command line.
func flagged(n setting.Name) string { return "`--" + strings.ReplaceAll(string(n), "_", "-") + "`" }

// word returns a cell in one word.
func word(c Cell) string {
	switch {
	case c.Refused():
		return "no"
	case !c.Why.IsZero():
		return "part"
	}
	return "yes"
}

// document returns the text of docs/abilities.md.
func document() string {
	var b strings.Builder
	b.WriteString(documentHead + "| |")
	for _, r := range Rows() {
		fmt.Fprintf(&b, " %s |", r)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Rows())) + "\n")
	for _, c := range Columns() {
		fmt.Fprintf(&b, "| %s |", c)
		for _, r := range Rows() {
			fmt.Fprintf(&b, " %s |", word(Of(r, c)))
		}
		b.WriteString("\n")
	}
	for _, r := range Rows() {
		fmt.Fprintf(&b, "\n## %s\n\n| ability | shown by | why not |\n|---|---|---|\n", strings.ToUpper(r.String()[:1])+r.String()[1:])
		for _, c := range Columns() {
			cell := Of(r, c)
			var tests []string
			for _, name := range cell.Tests {
				pkg, test, _ := strings.Cut(name, ": ")
				tests = append(tests, fmt.Sprintf("`%s` (%s)", test, pkg))
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", c, strings.Join(tests, ", "), cell.Why.In(flagged))
		}
	}
	return b.String()
}

// TestDocument checks that docs/abilities.md is generated from the table.
func TestDocument(t *testing.T) {
	const file = "../../../docs/abilities.md"
	got := document()
	if *update {
		testcheck.Must(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	testcheck.Must(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("docs/abilities.md is stale, make docs writes it again:\n%s", d)
	}
}
