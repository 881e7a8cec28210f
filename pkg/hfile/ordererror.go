package hfile

import "fmt"

// OrderError is a cell or row that does not come after the one before it. Its message has neither: rows are data.
// Of rows it keeps the first 200 bytes.
type OrderError struct {
	Key, After string // as a person reads them
}

// outOfOrder returns the error of two rows. It keeps their beginnings.
func outOfOrder(row, after []byte) error {
	const most = 200
	return &OrderError{fmt.Sprintf("%q", row[:min(len(row), most)]), fmt.Sprintf("%q", after[:min(len(after), most)])}
}

func (e *OrderError) Error() string {
	return ErrOrder.Error() + ": one does not come after the one before it"
}

func (e *OrderError) Unwrap() error { return ErrOrder }

// Data are both, for callers that may show them.
func (e *OrderError) Data() []byte { return []byte(e.Key + " after " + e.After) }
