package fail

import "fmt"

// A RejectsError is the error of a job about its records, with the file of those that it has set aside.
type RejectsError struct {
	File string // as the job was given it
	Err  error
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("%v (bad records are in %s)", e.Err, e.File)
}
func (e *RejectsError) Unwrap() error { return e.Err }

// WithRejects adds the file to an error of the kind [BadRows]. Any other, nil too, is given back as it is.
func WithRejects(err error, file string) error {
	if err == nil || KindOf(err) != BadRows {
		return err
	}
	return &RejectsError{File: file, Err: err}
}
