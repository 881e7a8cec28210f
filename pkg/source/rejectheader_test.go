package source

import (
	"fmt"
	"testing"

	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
)

// TestRejectsOfOneColumn checks that a repeated header of one column is bad again when it is read from a reject file, once and twice, and that a
// word that is the name of its column is no header where no file had one.
func TestRejectsOfOneColumn(t *testing.T) {
	id := []string{"id"}
	for name, tt := range map[string]struct {
		o     Options
		files []string
		want  []string // the bad records
	}{
		"csv":       {Options{Columns: id}, []string{"id\n1\nid\n2\n"}, []string{"id"}},
		"others":    {Options{}, []string{"id\n1\nid\n\"\"x\n2\n"}, []string{"id", `""x`}},
		"dialect":   {Options{Dialect: withHeader(t, dialect.Excel, dialect.HeaderYes)}, []string{"id\nid\n"}, []string{"id"}},
		"match":     {Options{Columns: id, Dialect: withHeader(t, dialect.Excel, dialect.HeaderMatch)}, []string{"1\n\"\"x\n", "id\n1\nid\n"}, []string{`""x`, "id"}},
		"partition": {Options{}, []string{"id\nid\n", "id\n2\nid\n"}, []string{"id", "id"}},
	} {
		var inputs []string
		for i, text := range tt.files {
			path := fmt.Sprintf("%d.csv", i)
			if name == "partition" {
				path = "dt=" + path + "/x.csv"
			}
			inputs = append(inputs, tree(t, map[string]string{path: text}))
		}
		o := tt.o
		for range 3 {
			good, bad, path := rejected(t, o, inputs...)
			if len(bad) != len(tt.want) || o.Format == FormatRejects && len(good) > 0 {
				t.Fatalf("%s: %q, and bad %q, want %q", name, good, bad, tt.want)
			}
			o, inputs = Options{Format: FormatRejects}, []string{path}
		}
	}
	good, bad, _ := rejected(t, Options{Format: FormatRejects}, writeFile(t, "filtered.jsonl", []byte(`{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["id"]}`+"\n"+`{"raw":"id"}`+"\n")))
	if diff := cmp.Diff([][]string{{"id"}}, good); diff != "" || len(bad) > 0 {
		t.Errorf("bad %q (-want +got):\n%s", bad, diff)
	}
}
