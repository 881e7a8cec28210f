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

// paceOf returns the pace of a job that was done in one attempt; nil if it was partially done before, or had nothing to do.
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

// maxJournals is the maximum number of jobs that are searched for a finished one.
const maxJournals = 8

// earlierPace returns the pace of the newest job of the same table that was done in one attempt, among those with state next to this one's. It is
// information for people, so unreadable state is ignored.
func earlierPace(dir string) *progress.Pace {
	for r := range earlierResults(dir, maxJournals) {
		if p := paceOf(r); p != nil {
			return p
		}
	}
	return nil
}

// earlierRecords returns the numbers of records of the last n finished jobs of the same table and job file, the newest first, without rejected and
// filtered records.
func earlierRecords(dir, jobFile string, n int) (records []int64) {
	for r := range earlierResults(dir, 8*n) {
		if m := r.Manifest; m != nil && r.JobFile == jobFile && len(records) < n {
			records = append(records, m.Records-m.Rejected-m.Filtered)
		}
	}
	return records
}

// earlierResults iterates over the results of finished jobs of the same table, among the newest with state next to this one's.
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
