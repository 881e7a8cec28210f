package spec

// A FieldError is about the value of one field of a job file, wherever the
// value was given.
type FieldError struct {
	Field string // as in the file
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }
