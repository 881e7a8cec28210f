package hfile

import "fmt"

// OrderError reports a cell or row that does not sort after the previous one. Its message contains neither of
// them, because rows are data. Of a row of [RowWriter.AppendRow] it keeps at most the first 200 bytes.
type OrderError struct {
	Key, After string // in readable form
}

// outOfOrder returns the error for two rows. It keeps their first bytes.
func outOfOrder(row, after []byte) error {
	const most = 200
	return &OrderError{fmt.Sprintf("%q", row[:min(len(row), most)]), fmt.Sprintf("%q", after[:min(len(after), most)])}
}

func (e *OrderError) Error() string {
	return ErrOrder.Error() + ": one does not sort after the one before it"
}

func (e *OrderError) Unwrap() error { return ErrOrder }

// Data returns both keys, for callers that may show them.
func (e *OrderError) Data() []byte { return []byte(e.Key + " after " + e.After) }
