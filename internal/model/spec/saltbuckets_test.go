package spec

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition"
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

// TestGivenModulus checks that no split points show no modulus, unless they are those of a table.
func TestGivenModulus(t *testing.T) {
	for _, c := range []struct {
		key, splits string
		buckets     int
		want        int // 0: refused
	}{
		{"salt(id) + id", "salt:1", 0, 0}, {"bytesalt(id) + id", "salt:1", 0, 0}, {"id + javasalt(id)", "salt:1", 0, 0}, {"salt(id) + id", "salt:4", 0, 4},
		{"salt(id) + id", "salt:1", 1, 1}, {"salt(id) + id", "salt:1", 7, 7}, {"salt(id, 5) + id", "salt:1", 0, 1}, {"id", "salt:1", 0, 1},
	} {
		j, err := Spec{Table: "t", Key: c.key, Regions: c.buckets}.Resolve()
		testcheck.Must(t, err)
		splits, err := partition.ParsePlan(c.splits)
		testcheck.Must(t, err)
		n, err := j.GivenModulus(splits)
		if n != c.want || (fail.KindOf(err) == fail.Config) != (c.want == 0) || err != nil && !strings.Contains(err.Error(), "give the number of salts with `salt_buckets`") {
			t.Errorf("%s by %s, %d given: %d, %v", c.key, c.splits, c.buckets, n, err)
		}
	}
}

// TestSaltModulus checks that a key takes the modulus of its own salt from the split points, and refuses those of another salt.
func TestSaltModulus(t *testing.T) {
	for _, c := range []struct {
		key, splits string
		want        int // 0: refused
	}{
		{"salt(id) + id", "salt:10", 10}, {"bytesalt(id) + id", "bytesalt:16", 16}, {"javasalt(id) + id", "javasalt:16", 16},
		{"bytesalt(id) + id", "salt:10", 0}, {"salt(id) + id", "bytesalt:16", 0}, {"javasalt(id) + id", "bytesalt:16", 0},
		{"salt(id, 5) + bytesalt(id) + id", "salt:5", 0}, {"salt(id, 5) + id", "salt:10", 10}, {"id", "hex:16", 1}, {"bytesalt(id) + id", "hex:1", 1},
	} {
		j, err := Spec{Table: "t", Key: c.key}.Resolve()
		testcheck.Must(t, err)
		splits, err := partition.ParsePlan(c.splits)
		testcheck.Must(t, err)
		n, err := j.SaltModulus(splits)
		if n != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s by %s: %d, %v", c.key, c.splits, n, err)
		}
		if function, _, _ := strings.Cut(c.key, "("); err != nil && c.key[:5] != "salt(" && !strings.Contains(err.Error(), "not split by "+function) {
			t.Errorf("%s by %s: %v", c.key, c.splits, err)
		}
	}
}
