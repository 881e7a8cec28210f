package job

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// pace returns the speed of a job that was done in one attempt; nil if a part was done before, or if there was nothing to do.
func paceOf(r *result.Result) *progress.Pace {
	m := r.Manifest
	if m == nil || m.Records == 0 || m.ReadTime <= 0 || m.WriteTime <= 0 || r.Attempt != 1 {
		return nil
	}
	p := &progress.Pace{Records: m.Records, Regions: r.Regions, Read: m.ReadTime, Write: m.WriteTime, Load: r.LoadTime, Verify: r.VerifyTime}
	if r.Verify != nil {
		p.Mode = r.Verify.Mode
	}
	return p
}

// mostJournals is how many jobs are looked at for one that was done.
const mostJournals = 8

// earlierPace finds the newest job of the same table that was done in one go, among those whose state is next to this
// one's. It is only displayed, so files that cannot be read are ignored.
func earlierPace(dir string) *progress.Pace {
	for r := range earlierResults(dir, mostJournals) {
		if p := paceOf(r); p != nil {
			return p
		}
	}
	return nil
}

// earlierRecords returns how many records the last n jobs of the same table and job file had that are done, the newest first: those that
// were neither rejected nor filtered.
func earlierRecords(dir, jobFile string, n int) (records []int64) {
	for r := range earlierResults(dir, 8*n) {
		if m := r.Manifest; m != nil && r.JobFile == jobFile && len(records) < n {
			records = append(records, m.Records-m.Rejected-m.Filtered)
		}
	}
	return records
}

// earlierResults returns the earlier results of jobs of the same table that are done, among the newest ones whose state is next to this one's.
func earlierResults(dir string, most int) iter.Seq[*result.Result] {
	return func(yield func(*result.Result) bool) {
		if dir == "" {
			return
		}
		name := filepath.Base(dir)
		table := checkpoint.TableOf(name)
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil {
			return
		}
		type found struct {
			path string
			time time.Time
		}
		var jobs []found
		for _, e := range entries {
			if e.Name() == name || table == "" || checkpoint.TableOf(e.Name()) != table {
				continue
			}
			j := filepath.Join(filepath.Dir(dir), e.Name(), journal.FileName)
			if info, err := os.Stat(j); err == nil {
				jobs = append(jobs, found{j, info.ModTime()})
			}
		}
		slices.SortFunc(jobs, func(a, b found) int { return b.time.Compare(a.time) })
		for _, j := range jobs[:min(len(jobs), most)] {
			if r := checkpoint.LastResult(j.path); r != nil && !yield(r) {
				return
			}
		}
	}
}
