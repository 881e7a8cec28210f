package job

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// TestEarlierPace checks that the pace is that of the table's newest job that was done in one attempt.
func TestEarlierPace(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	add := func(name string, age time.Duration, records int64, attempt int, done bool) {
		t.Helper()
		d := filepath.Join(dir, name)
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		j, _, err := journal.Open(d)
		if err != nil {
			t.Fatal(err)
		}
		r := &result.Result{Attempt: attempt, Regions: 3, LoadTime: 4, JobFile: "/jobs/" + name[:2], VerifyTime: 5, Verify: &result.Verification{Mode: "full"},
			Manifest: &manifest.Manifest{Records: records, Rejected: records % 2, Filtered: records / 5, ReadTime: 6, WriteTime: 7}}
		if done {
			_, err = j.Append("done", map[string]any{"result": r}, journal.Later)
			if err == nil && attempt == 1 { // with the removal of its staging directory
				_, err = j.Append("cleaned", history.TokenRecord{Token: "hdfs://nn/s"}, journal.Later)
			}
		} else {
			_, err = j.Append("attempt", history.AttemptRecord{Attempt: 1}, journal.Later)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(d, journal.FileName), now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(dir, "ns_check-000000000000")
	if p := earlierPace(mine); p != nil {
		t.Fatalf("of no job: %+v", p)
	}
	add("ns_check-000000000000", time.Second, 1, 1, true) // the job itself
	add("ns_check-111111111111", time.Minute, 2, 1, false)
	add("ns_check-222222222222", time.Hour, 3, 2, true) // partly done before
	add("ns_check-333333333333", 24*time.Hour, 4, 1, true)
	add("ns_check-444444444444", 48*time.Hour, 5, 1, true)
	add("ns_check-b-555555555555", time.Second, 6, 1, true) // another table
	add("check-666666666666", time.Second, 7, 1, true)
	if err := os.Mkdir(filepath.Join(dir, "ns_check-777777777777"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := progress.Pace{Records: 4, Regions: 3, Read: 6, Write: 7, Load: 4, Verify: 5, Mode: "full"}
	if p := earlierPace(mine); p == nil || *p != want {
		t.Errorf("%+v, not %+v", p, want)
	}
	if got := earlierRecords(mine, "/jobs/ns", 2); !slices.Equal(got, []int64{2, 4}) { // the newest two that are done, in one attempt or several
		t.Errorf("earlier records %d", got)
	}
	if got := earlierRecords(mine, "/jobs/other", 9); len(got) != 0 {
		t.Errorf("of another job file %d", got)
	}
	if p := earlierPace(""); p != nil {
		t.Errorf("of no state: %+v", p)
	}
}
