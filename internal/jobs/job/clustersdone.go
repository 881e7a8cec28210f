package job

import (
	"context"
	"fmt"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/setting"
)

// recorded reports which clusters have received the files. A cluster has a record by its configuration, which may lead to another cluster by now: each
// one is asked for its id. If the job is finished, another cluster is an error.
func (j *clustersRun) recorded(ctx context.Context) (has []bool, errs []error) {
	has, errs = make([]bool, len(j.destinations)), make([]error, len(j.destinations))
	_ = workers.Run(ctx, len(has), func(ctx context.Context, i int) error {
		d := j.destinations[i]
		was, known := j.job.Clusters[d.conf]
		id := loadedCluster(was)
		if has[i] = known; id == "" { // nothing was loaded there, or an earlier version has left no id
			return nil
		}
		now, err := j.idOf(d.env, ctx)
		if has[i] = err != nil || now == id; has[i] {
			errs[i] = err
		} else if j.job.Finished {
			errs[i] = fail.With(fail.Config, setting.Errorf("this job was done for cluster %s, but the configuration leads to %s: a %s makes another job, %s loads all clusters",
				id, now, setting.JobID, setting.Restart))
		}
		return nil
	})
	return has, errs
}

// loadedCluster returns the id of the cluster that has received files: that of the record, else that in the journals of its loads.
func loadedCluster(was result.Cluster) string {
	for _, dir := range was.Jobs {
		if was.ID != "" {
			break
		}
		if h, err := readHistory(dir); err == nil && h.Plan != nil && h.Plan.Made != nil {
			was.ID = h.Plan.Made.Cluster
		}
	}
	return was.ID
}

// sameReplacing refuses a job that replaces the tables of some clusters only: the tables would differ.
func (j *clustersRun) sameReplacing() error {
	for _, d := range j.destinations {
		switch was, known := j.job.Clusters[d.conf]; {
		case !known || j.spec.Replace == (was.Replace != nil):
		case j.spec.Replace:
			return fail.With(fail.Config, setting.Errorf("cluster %s was loaded without %s, and its table may have other rows: %s replaces it", d, setting.Replace, setting.Restart))
		case !j.job.Finished:
			return fail.With(fail.Config, setting.Errorf("the table of cluster %s was replaced by this job: give %s for the other clusters too", d, setting.Replace))
		}
	}
	return nil
}

// loadsUndone refuses a job whose load into one of the clusters was undone, or is being undone.
func (j *clustersRun) loadsUndone() error {
	again := byRestart(" into all clusters, with another timestamp")
	if err := undone(j.job.Dir, &j.job.History, false, again); err != nil { // by an earlier version
		return err
	}
	for _, d := range j.destinations {
		for _, dir := range j.job.Clusters[d.conf].Jobs {
			h, err := readHistory(dir)
			if err == nil {
				err = undone(dir, &h, false, again)
			}
			if err != nil {
				return fmt.Errorf("cluster %s: %w", d, err)
			}
		}
	}
	return nil
}

// alreadyDone returns the result of a job that was done before. It removes HFiles that a process killed at its end has left.
func (j *clustersRun) alreadyDone(ctx context.Context) error {
	j.job.Answer(ctx, j.env, j.result, j.options.Events)
	j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: j.result.Table, Inputs: j.spec.Inputs})
	if j.job.Built != nil {
		if err := build.ExpectedEarlier(j.job.Built.Records, j.spec.Expect); err != nil {
			return err
		}
	}
	if _, errs := j.recorded(ctx); j.joined(errs) != nil {
		return j.joined(errs)
	}
	j.removeFiles()
	return nil
}
