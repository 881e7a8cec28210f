package keygen

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxKey is the greatest length of a row key in HBase (HConstants.MAX_ROW_LENGTH).
const MaxKey = 32767

// Reasons why a record has no key, wrapped by [*FieldError].
var (
	ErrEmpty  = errors.New("key column is empty")                     // unless the spec has orempty around it
	ErrUTF8   = errors.New("key column is not valid UTF-8")           // for a function that works on characters
	ErrNoKey  = errors.New("row key is empty")                        // returned by callers, since a part of a key may be empty
	ErrLong   = fmt.Errorf("row key is longer than %d bytes", MaxKey) // all parts together
	ErrNumber = errors.New("not a whole number")                      // for a function that needs an integer
	ErrRange  = errors.New("number out of range")                     // beyond 64 bits, or the range of the function
	ErrDate   = errors.New("not a date of the layout")                // for millis or date
	ErrFiner  = errors.New("finer than a millisecond: a layout with [.SSS] cuts the digits after it")
	ErrShort  = errors.New("too short")               // a function uses bytes that the value does not have
	ErrWide   = errors.New("too long for its width")  // for pad and similar functions
	ErrHex    = errors.New("not hex digits in pairs") // for a function that reads hexadecimal text
)

// A FieldError explains why a record has no key. It names the column at fault and the part of the key that failed.
type FieldError struct {
	Column string // empty if several columns, the number in an abs or the key as a whole are at fault
	Part   string // of the spec, as it prints; empty if the part is just the column, or if the key as a whole is at fault
	Err    error
}

func (e *FieldError) Error() string {
	if e.Column == "" {
		return e.Reason()
	}
	return "column " + e.Column + ": " + e.Reason()
}

// Reason returns the message without the column's name.
func (e *FieldError) Reason() string {
	if e.Part == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + " (in the key's part " + e.Part + ")"
}

func (e *FieldError) Unwrap() error { return e.Err }

// A ValueError is about a value of a record. Its message contains the value's length but not the value: messages may be stored where data must not be.
type ValueError struct {
	Value []byte // its beginning
	Bytes int    // its length
	Err   error  // the text after "value …"
}

// valueError returns an error about a value. It keeps a copy of the value's beginning.
func valueError(value []byte, format string, args ...any) error {
	return NewValueError(value, fmt.Errorf(format, args...))
}

// NewValueError returns an error that keeps the value's beginning. The message of err continues "value of 3 bytes".
func NewValueError(value []byte, err error) *ValueError {
	const most = 256 // a little more than is shown
	return &ValueError{bytes.Clone(value[:min(len(value), most)]), len(value), err}
}

func (e *ValueError) Error() string {
	if e.Bytes == 1 {
		return "value of 1 byte " + e.Err.Error()
	}
	return fmt.Sprintf("value of %d bytes %v", e.Bytes, e.Err)
}

func (e *ValueError) Unwrap() error { return e.Err }

// Data returns the value's beginning, for callers that may show it.
func (e *ValueError) Data() []byte { return e.Value }
