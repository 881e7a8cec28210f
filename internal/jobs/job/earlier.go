package job

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/setting"
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
			if r := status.LastResult(j.path); r != nil && !yield(r) {
				return
			}
		}
	}
}

// earlierResult returns the result of a job that was done before. It verifies the rows in
// the table with the job's current settings, not with those of then.
func (j *run) earlierResult(ctx context.Context) (*result.Result, error) {
	r := j.result
	j.job.Answer(ctx, j.env, r, j.options.Events)
	if err := j.doneReplacing(); err != nil {
		return r, err
	}
	start := j.start()
	start.Attempt = 0
	j.options.Events.Start(start)
	all, err := j.job.Resume().Manifests(j.buildTables())
	if err == nil {
		err = build.ExpectedEarlier(all[0].Records, j.spec.Expect)
	}
	if err != nil {
		return r, err
	}
	for i := 0; i < len(j.targets) && err == nil; i++ {
		err = j.checkStillThere(ctx, j.targets[i], all[i], r)
	}
	if err != nil && fail.KindOf(err) != fail.Verify {
		return r, err // a read failure is no evidence about the table's contents
	}
	if err != nil {
		return r, fail.With(fail.Verify, setting.Errorf("this job was done at %s, but: %w (%s loads it again)", j.job.FinishedAt.Format(time.RFC3339), err, setting.Restart))
	}
	return r, nil
}

// doneReplacing refuses a job that replaces its table's rows now, but was done without that.
func (j *run) doneReplacing() error {
	if !j.spec.Replace || j.job.History.Replace != nil {
		return nil
	}
	return fail.With(fail.Config, setting.Errorf("this job was done at %s without %s, and the table may have other rows: %s replaces it", j.job.FinishedAt.Format(time.RFC3339), setting.Replace, setting.Restart))
}

// checkStillThere verifies the rows of a table that the job has filled before.
func (j *run) checkStillThere(ctx context.Context, t *target, m *manifest.Manifest, r *result.Result) (err error) {
	if t.number > 0 {
		own := &result.Result{}
		defer func() {
			if t.number <= len(r.Tables) && own.Verify != nil {
				r.Tables[t.number-1].Verify, r.Tables[t.number-1].VerifyTime = own.Verify, own.VerifyTime
			}
		}()
		r = own
	}
	switch mode := j.spec.Verify; {
	case mode == "full":
		if err := progress.Pass(ctx, j.options.Gate); err != nil {
			return err
		}
		err = j.verify(ctx, &loaded{manifest: m, facts: t.facts}, mode, r)
	case (mode == "sample" || mode == "files") && len(m.Samples) > 0:
		_, err = verify.Sample(ctx, j.cluster, t.facts, m)
	}
	return err
}
