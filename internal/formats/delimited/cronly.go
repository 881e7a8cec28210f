package delimited

import (
	"bytes"

	"bulkload/pkg/source/dialect"
)

// CROnly reports whether the lines of a text that begins with a record, or comments before it, seem to end with CR only: the record does not
// end with LF, and there is a CR before the last byte that would end it. It is for dialects whose records end with LF.
func CROnly(d *dialect.Dialect, set Charset, text []byte) bool {
	s := New(d, 1, set)
	s.Data = text
	at := s.skipComments(0, len(text), false)
	if at < 0 {
		at = -at - 1 // it does not end
	}
	text = text[at:]
	if bytes.IndexByte(bytes.TrimRight(text, "\r"), '\r') < 0 || firstEnd(d, set, text) > 0 {
		return false
	}
	of := *d
	of.RecordSep = "\r"
	end := firstEnd(&of, set, text)
	return 0 < end && end < len(text)
}

// firstEnd returns where the first record of a text ends; 0 or less if it has no end mark.
func firstEnd(d *dialect.Dialect, set Charset, text []byte) int {
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	s := New(d, 1, set)
	next, bad := s.Scan(data, 0, len(text), false)
	switch {
	case len(s.Starts) > 1:
		return int(s.Starts[1])
	case bad != nil && len(s.Starts) > 0:
		return bad.Start
	case bad != nil:
		return bad.End
	case len(s.Starts) == 0:
		return 0
	}
	return next
}
