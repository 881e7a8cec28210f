package job

import (
	"cmp"
	"path/filepath"
	"slices"

	"bulkload/internal/base/abilities"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/source"
)

// RejectsName is the name of the file of bad records in a job's state directory.
const RejectsName = "rejects.jsonl"

// checkDuplicatesFile refuses a file of duplicates if no single process has all records of a key, or if no file can hold them.
func checkDuplicatesFile(o RunOptions, s spec.Job) error {
	if o.DuplicatesFile == "" {
		return nil
	}
	if o.YARN != nil {
		return fail.With(fail.Config, abilities.Refusal(abilities.Run, abilities.Duplicates))
	}
	return cmp.Or(refuseTables(s, abilities.Input, abilities.Duplicates), build.CheckDuplicatesFile(s))
}

// refuseTables refuses a job with an input that is a table, for work that does not go with it.
func refuseTables(s spec.Job, work abilities.Row, with abilities.Column) error {
	i := slices.IndexFunc(s.Inputs, cluster.IsTable)
	if i < 0 {
		return nil
	}
	return fail.Errorf(fail.Config, "input %s: %w", s.Inputs[i], abilities.Refusal(work, with))
}

// KeepRejects puts the bad records of a job without a configured file into its state directory. It removes an unfinished file of a killed attempt,
// since the job's lock is held.
func KeepRejects(o *build.WorkOptions, dir string) error {
	if o.RejectFile != "" || dir == "" {
		return nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	o.RejectFile = filepath.Join(abs, RejectsName)
	return fail.With(fail.Config, source.NewRejectFile(o.RejectFile).RemoveTemp())
}
