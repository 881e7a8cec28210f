package testcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// ExpectedTexts returns the lines of a file of JSON: the columns to choose, and each row's texts by column, nil for NULL.
func ExpectedTexts(t testing.TB, name string) (columns []string, rows []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(name)
	Must(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	Must(t, d.Decode(&columns))
	for d.More() {
		rows = append(rows, nil)
		Must(t, d.Decode(&rows[len(rows)-1]))
	}
	return columns, rows
}

// SameRows compares rows by column, except for columns that are not expected.
func SameRows(t testing.TB, columns []string, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		for _, c := range columns {
			if g, w := fmt.Sprintf("%q", got[i][c]), fmt.Sprintf("%q", want[i][c]); g != w {
				t.Fatalf("row %d, column %s:\n%s, want\n%s", i, c, g, w)
			}
		}
	}
}
