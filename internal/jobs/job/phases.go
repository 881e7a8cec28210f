package job

import (
	"context"
	"slices"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/loader"
)

// The phases of a job are types, each made from the one before: only built files
// can be loaded, and only a loaded table can be verified.

// built is a job whose HFiles are complete and whose row counts match. It is made
// by run.build, and by LoadDir for files that it has read.
type built struct {
	manifest *manifest.Manifest
	markers  []loader.HFile // loaded together with the files of the manifest
}

// loaded is a job after HBase has loaded every file. It is made by loadFiles, also
// from a journal that has this state.
type loaded struct {
	manifest *manifest.Manifest
	facts    *cluster.Facts
	stores   *verify.Stores // nil if only rows are compared
}

// verify compares a loaded table with the files that were written, to the extent of the mode. The findings are in
// the result, also if there is an error.
func (j *run) verify(ctx context.Context, l *loaded, mode string, r *result.Result) error {
	return verify.Table(ctx, j.cluster, l.facts, mode, l.manifest, l.stores, j.options.Events, r)
}

// recordVerified ends the verification of a table, which the result has: it also compares the table with an export that replaces its rows.
func (j *run) recordVerified(ctx context.Context, m *manifest.Manifest, r *result.Result) error {
	if err := j.replaced(ctx, m, r.Verify); err != nil {
		return err
	}
	return j.job.Record(checkpoint.EventVerified, r.Verify)
}

// storesReadable refuses a job that is to be verified by its files if these cannot be read.
func (j *run) storesReadable(ctx context.Context) error {
	if j.spec.Verify != "files" || j.job.Finished {
		return nil
	}
	s, err := verify.StoresOf(j.env)
	if err != nil {
		return err
	}
	for _, t := range j.targets {
		if err := s.Readable(ctx, t.facts); err != nil {
			return err
		}
	}
	return nil
}

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
