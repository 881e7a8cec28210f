package fail

import (
	"bytes"
	"fmt"
)

// mostData is how many bytes of a value or key an error keeps.
const mostData = 256

// DataError is about a value or a row key, which its message does not have: messages go into logs, reports and other
// files that more people read than the table. [keygen.ValueError] and others are like it: a caller that may show data finds it by
// the method Data.
type DataError struct {
	data []byte
	err  error
}

// AboutData returns an error about data; what its format takes is not data.
func AboutData(data []byte, format string, args ...any) error {
	return &DataError{bytes.Clone(data[:min(len(data), mostData)]), fmt.Errorf(format, args...)}
}

func (e *DataError) Error() string { return e.err.Error() }
func (e *DataError) Unwrap() error { return e.err }

// Data returns the beginning of what the error is about.
func (e *DataError) Data() []byte { return e.data }
