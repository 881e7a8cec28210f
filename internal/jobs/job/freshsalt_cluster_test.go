package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
)

// TestFreshTableWithoutSalts refuses split points that do not show the modulus of the key's salt, before a table is made.
func TestFreshTableWithoutSalts(t *testing.T) {
	t.Parallel()
	l := newFreshLab(t)
	t.Cleanup(func() { l.remove(l.new) })
	s := replacing(l.first(), "100%")
	s.Key = "salt(id) + id"
	for name, splits := range map[string]fresh.Splits{"of the old table": nil, "given": splitAt("k0100")} {
		_, err := Run(t.Context(), l.env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: l.state}, Into: l.new.String(), Splits: splits})
		refused(t, err, fail.Config, "`salt_buckets`")
		if l.exists(l.new) {
			t.Errorf("%s: a table was made", name)
		}
	}
}
