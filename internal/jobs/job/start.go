package job

import (
	"slices"

	"bulkload/internal/model/progress"
)

// start returns the description of the attempt when it begins.
func (j *run) start() progress.Start {
	s := progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: j.spec.Table, Attempt: j.result.Attempt, Key: j.spec.Key(), Inputs: j.spec.Inputs,
		Regions: j.work.Ranges.Len(), Timestamp: j.work.Timestamp, Staging: j.result.Staging,
		Part: j.options.part, Parts: j.options.parts, Behind: j.options.behind, Ahead: j.options.ahead}
	j.addInputs(&s)
	s.Splits = j.work.Ranges.Splits()
	s.Columns, s.Phases, s.Earlier = len(j.work.Columns), j.phasesLeft(), earlierPace(j.job.Dir)
	if slices.Contains(s.Phases, "verify") {
		s.Verify = j.spec.Verify
	}
	return s
}

// phasesLeft returns the phases that the attempt will go through, according to the
// journal.
func (j *run) phasesLeft() (phases []string) {
	if j.job.Finished {
		if j.spec.Verify == "full" {
			return []string{"verify"}
		}
		return nil
	}
	if len(j.job.Written) > 0 && !j.job.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.job.Built == nil {
		if j.job.Sorted == nil || len(j.job.Sorted.Runs) == 0 {
			phases = append(phases, "read", "sort")
		}
		phases = append(phases, "write")
	}
	if j.options.Snapshot != "" && j.job.History.Snapshot == "" && !j.job.AnyLoading() {
		phases = append(phases, "snapshot")
	}
	if j.job.Built == nil || j.job.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.compares() && !j.job.AnyLoading() {
		phases = append(phases, "replace")
	}
	phases = append(phases, "load")
	if v := j.spec.Verify; v == "full" || v == "files" || v == "sample" {
		phases = append(phases, "verify")
	}
	return phases
}
