package spec

import (
	"strings"
	"testing"
)

// TestWhatCellsSayOfNothing checks the settings of cells for empty texts and for
// NULL.
func TestWhatCellsSayOfNothing(t *testing.T) {
	for file, want := range map[string]string{
		`{column: a, empty: store}`:                             "",
		`{columns: [a, b], nulls: store}`:                       "",
		`{rest: true, empty: skip, nulls: skip}`:                "",
		`{json: true, qualifier: j, empty: skip}`:               "",
		`{column: a, type: long, empty: skip}`:                  "",
		`{column: a, type: text, nulls: store}`:                 "",
		`{column: a, empty: perhaps}`:                           `cell 1 (column a): empty: "perhaps" is invalid: want skip or store`,
		`{column: a, nulls: null}`:                              "",
		`{column: a, nulls: "null"}`:                            `nulls: "null" is invalid: want`,
		`{column: a, type: long, empty: store}`:                 "empty store: readers of type long cannot decode an empty cell",
		`{column: a, type: date, nulls: store}`:                 "nulls store: readers of type date",
		`{value: x, qualifier: q, nulls: store}`:                "nulls store: the value is the same in every row",
		`{column: a, empty: skip, nulls: store}`:                "NULL would be a cell where an empty text is none",
		`{column: a, qualifier_from: b, empty: s, nulls: skip}`: `empty: "s" is invalid: want`,
	} {
		s, err := ParseSpec("job.yaml", []byte("key: id\ncells: ["+file+"]"))
		if err == nil {
			_, err = s.Resolve()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
