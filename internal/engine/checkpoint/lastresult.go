package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
)

// LastResult returns the result at the end of the named journal, or nil if the
// journal does not end with one. It reads only the last record.
func LastResult(name string) *result.Result {
	const tail = 256 << 10 // the last record is a few hundred bytes, and 200 of each expectation
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(info.Size(), tail))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	b = bytes.TrimRight(b, "\n")
	var r journal.Record
	r.Data = b[bytes.LastIndexByte(b, '\n')+1:]
	if json.Unmarshal(r.Data, &r) != nil || Event(r.Event) != EventDone {
		return nil
	}
	done, err := Decode[DoneRecord](r)
	if err != nil {
		return nil
	}
	return done.Result
}
