package fail

import (
	"bytes"
	"fmt"
)

// maxData is the maximum number of bytes of a value or key that an error keeps.
const maxData = 256

// DataError is an error about a value or a row key. Its message omits that data, because people who must not read the table can read logs, reports and
// other output files. Some errors of other packages, such as [keygen.ValueError], work in the same way. A caller that may show the data gets it from the
// method Data.
type DataError struct {
	data []byte
	err  error
}

// AboutData returns an error about data. The arguments of its format must not contain the data.
func AboutData(data []byte, format string, args ...any) error {
	return &DataError{bytes.Clone(data[:min(len(data), maxData)]), fmt.Errorf(format, args...)}
}

func (e *DataError) Error() string { return e.err.Error() }
func (e *DataError) Unwrap() error { return e.err }

// Data returns the first bytes of the value or key that the error is about, at most maxData.
func (e *DataError) Data() []byte { return e.data }
