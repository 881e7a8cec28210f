package job

import (
	"context"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/setting"
)

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
