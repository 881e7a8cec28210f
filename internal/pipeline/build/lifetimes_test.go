package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestManifestSaysLifetimes: a manifest says whether a cell expires before those of its family do, in rows and in wide rows.
func TestManifestSaysLifetimes(t *testing.T) {
	for _, wide := range []bool{false, true} {
		for _, life := range []string{"", "9"} {
			t.Run(fmt.Sprint(wide, life), func(t *testing.T) {
				in := filepath.Join(t.TempDir(), "in.csv")
				testcheck.Must(t, os.WriteFile(in, []byte("id,v,life\na,1,\nb,2,"+life+"\n"), 0o600))
				cell := spec.CellSpec{Column: "v"}
				if wide {
					cell.QualifierFrom = "id"
				}
				s := spec.Spec{Inputs: []string{in}, Key: "id", Mapping: spec.Mapping{Cells: []spec.CellSpec{cell}, Skip: []string{"life", "id"}, CellTTL: &spec.TTLColumn{Column: "life"}}}
				m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{})
				if err != nil || m.Expiring() != (life != "") {
					t.Errorf("expiring %t, %v", m.Expiring(), err)
				}
			})
		}
	}
}
