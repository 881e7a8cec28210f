package ending

import (
	"fmt"
	"io"
)

// Output is the standard output of a command. It keeps the first error of a write, because texts are printed without checks: a
// full disk must not end in exit code 0. Not safe for concurrent use.
type Output struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("write the output: %w", err)
	}
	return n, err
}

// Err returns the error of the first write that failed.
func (o *Output) Err() error { return o.err }
