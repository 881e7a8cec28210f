package history

import (
	"slices"
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
		if diff := cmp.Diff(c.want, r.Restore(c.now)); diff != "" {
			t.Errorf("%v: %s", c.now, diff)
		}
	}
}

// TestTableLikeAQuietOne checks that a table that is created from a snapshot of a quiet table splits and merges as the other does now.
func TestTableLikeAQuietOne(t *testing.T) {
	for _, c := range []struct {
		of, now, want map[string]string
		off           []string
	}{
		{map[string]string{"SPLIT_ENABLED": "false", "MERGE_ENABLED": "false", "NORMALIZATION_ENABLED": "false", "OTHER": "false"}, map[string]string{"NORMALIZATION_ENABLED": "true"},
			map[string]string{"NORMALIZATION_ENABLED": "true", "OTHER": "false"}, nil},
		{map[string]string{"SPLIT_ENABLED": "false", "MERGE_ENABLED": "false"}, map[string]string{"SPLIT_ENABLED": "false"}, map[string]string{"SPLIT_ENABLED": "false"}, []string{"SPLIT_ENABLED"}},
		{map[string]string{"SPLIT_ENABLED": "true"}, map[string]string{"SPLIT_ENABLED": "false", "MERGE_ENABLED": "false"}, map[string]string{"SPLIT_ENABLED": "true"}, nil},
		{nil, map[string]string{"SPLIT_ENABLED": "false"}, nil, nil},
	} {
		off := Wake(c.of, c.now)
		if diff := cmp.Diff(c.want, c.of); diff != "" || !slices.Equal(off, c.off) {
			t.Errorf("off %q, want %q; %s", off, c.off, diff)
		}
	}
}
