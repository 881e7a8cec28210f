package job

import (
	"path/filepath"

	"bulkload/internal/model/fail"
	"bulkload/pkg/source"
)

// RejectsName is the name of the file of bad records in a job's state directory.
const RejectsName = "rejects.jsonl"

// keepRejects puts the bad records of a job that names no file for them into its state directory. What a killed attempt
// has left there unfinished goes: the job's lock is held.
func (o *RunOptions) keepRejects(dir string) error {
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
