package source

import (
	"bytes"
	"errors"
	"fmt"

	"bulkload/pkg/jsonlines"
	"bulkload/pkg/swar"
)

// lineStart is where the first line begins at or behind a byte of text that is not its first; -1 if none does.
func lineStart(text []byte, at int) int {
	if text[at-1] == '\n' {
		return at
	}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return -1
}

// parseJSON cuts buf[:n] into lines and gives their values to the callback as one batch, or several where bad lines lie
// between. It returns the beginning of the first line that is not whole. last says that the file ends at n, which ends the
// last line too. Texts whose escapes were undone lie behind the chunk.
func (r *Reader) parseJSON(n int, last bool) (int, error) {
	r.extra = n
	start, k, cols := 0, 0, r.file.cols
	for start < n {
		end, next := n, n
		if i := bytes.IndexByte(r.buf[start:n], '\n'); i >= 0 {
			end, next = start+i, start+i+1
		} else if !last {
			break
		}
		if jsonlines.Blank(r.buf[start:end]) {
			start = next
			continue
		}
		r.growRow(k, cols)
		grown, err := r.json.Parse(r.buf[:r.extra], start, end, r.fields[k:k+cols])
		if err == nil {
			r.buf, r.extra = grown[:cap(grown)], len(grown)
			r.offsets = append(r.offsets, r.off+int64(start))
			k += cols
		} else {
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			if err := r.rejectLine(start, next, err); err != nil {
				return start, err
			}
			k, r.extra = 0, n
		}
		start = next
	}
	return start, r.flush(k, start)
}

// rejectLine deals with the line buf[start:end], which cannot be used.
func (r *Reader) rejectLine(start, end int, err error) error {
	fault, ok := errors.AsType[*jsonlines.Error](err)
	if !ok {
		return fmt.Errorf("%s: at byte %d: %w", r.file.path, r.off+int64(start), err)
	}
	reason := fault.Reason
	if errors.Is(fault, jsonlines.ErrWholeFile) {
		reason = "it is an array, or an object that does not end" // the file's first line is none
	}
	return r.reject(start, end, fault.Path, fmt.Sprintf("JSON, byte %d of the line: %s", fault.Offset, reason))
}

// growRow makes room for the fields of a row behind the first k.
func (r *Reader) growRow(k, cols int) {
	if len(r.fields) < k+cols {
		fields := make([]Span, max(2*len(r.fields), k+cols+4*swar.Block))
		copy(fields, r.fields[:k])
		r.fields = fields
	}
}
