package fail

import "fmt"

// A RejectsError adds the file of rejected records to a job's error about its records.
type RejectsError struct {
	File string // as it was configured
	Err  error
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("%v (bad records are in %s)", e.Err, e.File)
}
func (e *RejectsError) Unwrap() error { return e.Err }

// WithRejects adds the file to an error of the kind [BadRows]. It returns any other error, or nil, unchanged.
func WithRejects(err error, file string) error {
	if err == nil || KindOf(err) != BadRows {
		return err
	}
	return &RejectsError{File: file, Err: err}
}
