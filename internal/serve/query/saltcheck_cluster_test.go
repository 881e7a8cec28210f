package query

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestScanOfOtherSalts checks that with too few salts, which would miss rows, a range is refused. With more salts all
// rows are found.
func TestScanOfOtherSalts(t *testing.T) {
	t.Parallel()
	e := loadEvents(t, jobtest.ClusterEnv(t, testcluster.Shared(t)), "salt(id) + ts + id", 5, 300)
	asked := e.spec.Spec()
	for _, salts := range []int{0, 5, 8, 3} {
		asked.Regions = salts
		e.spec = jobtest.Resolve(t, asked)
		for _, q := range []Query{{From: []string{"0100"}, To: []string{"0200"}}, {Prefix: []string{"01"}}, {}, {Full: true, From: []string{"0100"}}} {
			if salts != 3 {
				from, to := "0100", "0200"
				switch {
				case q.Full:
					to = "9"
				case q.From == nil && q.Prefix == nil:
					from, to = "", "9"
				}
				if _, err := e.page(t.Context(), q, e.between(from, to)); err != nil {
					t.Errorf("%d salts, %v: %v", salts, q, err)
				}
				continue
			}
			_, err := Read(t.Context(), e.env, e.spec, q, func(loader.Row) error {
				t.Fatalf("%d salts: %v gives a row", salts, q)
				return nil
			})
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "have other salts than salt(id)") {
				t.Errorf("%d salts, %v: %v", salts, q, err)
			}
		}
		// A range of row key bytes has no salts.
		if st, err := Read(t.Context(), e.env, e.spec, Query{Raw: true}, func(loader.Row) error { return nil }); err != nil || st.Rows != len(e.rows) {
			t.Errorf("%d salts, by bytes: %+v, %v", salts, st, err)
		}
	}
}
