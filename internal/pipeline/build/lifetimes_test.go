package build

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestManifestSaysLifetimes checks that a manifest records whether a cell expires before the cells of its family do, in rows and in wide rows.
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

// TestLifeBeyondTime checks that a record is refused if its TTL plus its timestamp exceeds 64 bits: HBase would take the
// overflowing sum for a time in the past, so that the record would never be visible.
func TestLifeBeyondTime(t *testing.T) {
	const stamp = 1000
	for _, c := range []struct {
		life, unit string
		at         int64 // timestamp of the record, 0 for the job's
		bad        bool
	}{
		{"9223372036854774807", "ms", 0, false}, // 2^63-1 less 1000
		{"9223372036854774808", "ms", 0, true},
		{"9223372036854775807", "ms", 0, true},
		{"9223372036854774", "s", 0, false},
		{"9223372036854775", "s", 0, true},
		{"1", "ms", math.MaxInt64 - 1, false}, // the latest timestamp of a cell
		{"2", "ms", math.MaxInt64 - 1, true},
	} {
		in := filepath.Join(t.TempDir(), "in.csv")
		m := spec.Mapping{Skip: []string{"life", "at"}, CellTTL: &spec.TTLColumn{Column: "life", Unit: c.unit}}
		if c.at != 0 {
			m.CellTimestamp = &spec.TimeColumn{Column: "at", Layout: "unixms"}
		}
		testcheck.Must(t, os.WriteFile(in, fmt.Appendf(nil, "id,life,at\na,%s,%d\n", c.life, c.at), 0o600))
		s := spec.Spec{Inputs: []string{in}, Key: "id", Timestamp: stamp, Mapping: m}
		_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{})
		if bad := fail.KindOf(err) == fail.BadRows; bad != c.bad || !bad && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
