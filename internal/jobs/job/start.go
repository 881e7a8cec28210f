package job

import (
	"slices"

	"bulkload/internal/model/progress"
)

// start returns the description of the attempt when it begins.
func (j *run) start() progress.Start {
	s := progress.Start{Job: j.st.Dir, JobID: j.o.State.JobID, Table: j.spec.Table, Attempt: j.result.Attempt, Key: j.spec.Key(), Inputs: j.spec.Inputs,
		Regions: j.work.Ranges.Len(), Timestamp: j.work.Timestamp, Staging: j.result.Staging,
		Part: j.o.part, Parts: j.o.parts, Behind: j.o.behind, Ahead: j.o.ahead}
	j.addInputs(&s)
	s.Splits = j.work.Ranges.Splits()
	s.Columns, s.Phases, s.Earlier = len(j.work.Columns), j.phasesLeft(), earlierPace(j.st.Dir)
	if slices.Contains(s.Phases, "verify") {
		s.Verify = j.spec.Verify
	}
	return s
}

// phasesLeft returns the phases that the attempt will go through, according to the
// journal.
func (j *run) phasesLeft() (phases []string) {
	if j.st.Finished {
		if j.spec.Verify == "full" {
			return []string{"verify"}
		}
		return nil
	}
	if len(j.st.Written) > 0 && !j.st.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.st.Built == nil {
		if j.st.Sorted == nil || len(j.st.Sorted.Runs) == 0 {
			phases = append(phases, "read", "sort")
		}
		phases = append(phases, "write")
	}
	if j.o.Snapshot != "" && j.st.History.Snapshot == "" && !j.st.AnyLoading() {
		phases = append(phases, "snapshot")
	}
	if j.st.Built == nil || j.st.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.compares() && !j.st.AnyLoading() {
		phases = append(phases, "replace")
	}
	phases = append(phases, "load")
	if v := j.spec.Verify; v == "full" || v == "files" || v == "sample" {
		phases = append(phases, "verify")
	}
	return phases
}
