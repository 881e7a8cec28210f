package inspect

import (
	"testing"

	"bulkload/internal/model/spec"
)

// TestNearestExpresses checks that a job file can have the dialect of every writer, with any separators and quotes that the judge tries.
func TestNearestExpresses(t *testing.T) {
	for _, w := range writers() {
		for _, sep := range []string{",", "\t", "\x01", "@|@"} {
			for _, end := range []string{"", "\n", "\x10", "|\n"} {
				for _, quote := range []byte(`"'` + "\x00") {
					d := w.dialect(sep, end, quote)
					if !w.has(sep, end) || !w.quoted && quote != '"' || d.Check() != nil {
						continue
					}
					s := &scan{w: w, dialect: d, files: []fileScan{{first: [][]byte{[]byte("a")}, firstToken: []int{-1}, cols: []stat{{typ: TypeUnknown}}, records: 1, firstField: make([]field, 1)}}}
					for _, r := range s.readings(&Given{spec: spec.Spec{Header: "yes"}}, nil) {
						if n := Nearest(&r.dialect); n.spec.Dialect == "" {
							t.Errorf("%s: %s", w.what, r.dialect)
						}
					}
				}
			}
		}
	}
}
