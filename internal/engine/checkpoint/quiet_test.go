package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRestoredAttributes checks that a table gets its previous attributes also where it has them, since a change of a killed attempt may come before that,
// and that values of others are kept.
func TestRestoredAttributes(t *testing.T) {
	r := QuietRecord{Was: map[string]string{"SPLIT_ENABLED": "true", "MERGE_ENABLED": "", "NORMALIZATION_ENABLED": ""}}
	for _, c := range []struct{ now, want map[string]string }{
		{map[string]string{"SPLIT_ENABLED": "false", "MERGE_ENABLED": "false", "NORMALIZATION_ENABLED": "false"}, r.Was},
		{map[string]string{"SPLIT_ENABLED": "true", "OTHER": "false"}, r.Was},
		{map[string]string{"SPLIT_ENABLED": "", "MERGE_ENABLED": "true", "NORMALIZATION_ENABLED": "false"}, map[string]string{"NORMALIZATION_ENABLED": ""}},
	} {
		if diff := cmp.Diff(c.want, r.restore(c.now)); diff != "" {
			t.Errorf("%v: %s", c.now, diff)
		}
	}
}
