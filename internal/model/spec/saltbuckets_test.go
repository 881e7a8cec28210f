package spec

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
)

// TestOldNameOfSaltBuckets checks that a job file may use the old name regions for
// one more release, but not both names.
func TestOldNameOfSaltBuckets(t *testing.T) {
	for _, name := range []string{"salt_buckets", "regions"} {
		s, err := ParseSpec("job.yaml", []byte("key: id\n"+name+": 7\n"))
		if err != nil || s.Regions != 7 || s.Key != "id" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	_, err := ParseSpec("job.yaml", []byte("key: id\nregions: 7\nsalt_buckets: 0\n"))
	if fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), "line 2: regions is the old name of salt_buckets, which line 3 gives") {
		t.Errorf("both: %v", err)
	}
	if _, err := ParseSpec("job.yaml", []byte("key: id\nregionz: 7\n")); fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), "regionz") {
		t.Errorf("unknown: %v", err)
	}
}
