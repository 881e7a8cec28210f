package spec

// A FieldError is an error about the value of a job file's field, wherever the
// value was given.
type FieldError struct {
	Field string // as in the job file
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }
