package job

import (
	"context"
	"fmt"
	"os"
	"time"

	"bulkload/internal/model/progress"
)

// end records that the job is done, and removes the HFiles.
func (j *clustersRun) end(ctx context.Context) error {
	j.result.Elapsed = time.Since(j.started)
	err := j.job.End(ctx, j.result, nil, false, j.options.Events)
	if err == nil {
		j.removeFiles()
	}
	return err
}

func (j *clustersRun) removeFiles() {
	if j.options.Keep {
		return
	}
	if err := os.RemoveAll(j.local); err != nil {
		j.options.Events.Warn("HFiles that all clusters have are left behind", "path", j.local, "error", err)
	}
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
func (j *clustersRun) alreadyDone(ctx context.Context) {
	j.job.Answer(ctx, j.env, j.result, j.options.Events)
	j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: j.result.Table, Inputs: j.spec.Inputs})
	j.removeFiles()
}
