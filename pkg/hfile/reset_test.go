package hfile

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"bulkload/internal/test/testcheck"
)

// TestFinishedHoldsNoFile checks that a finished writer, which may wait long for another file, does not keep the memory of the file that it has
// written, and that it takes no more rows.
func TestFinishedHoldsNoFile(t *testing.T) {
	out := &bytes.Buffer{}
	held := weak.Make(out)
	w, err := NewRowWriter(out, Options{Family: []byte("f")}, Schema{Qualifiers: [][]byte{[]byte("q")}, Timestamp: 1})
	testcheck.Must(t, err)
	testcheck.Must(t, w.AppendRow([]byte("a"), [][]byte{[]byte("1")}))
	_, err = w.Finish()
	testcheck.Must(t, err)
	out = nil
	runtime.GC()
	if held.Value() != nil {
		t.Error("the file is still held")
	}
	if w.AppendRow([]byte("b"), [][]byte{[]byte("2")}) == nil {
		t.Error("a row after the end is accepted")
	}
	again := &bytes.Buffer{}
	w.Reset(again)
	testcheck.Must(t, w.AppendRow([]byte("b"), [][]byte{[]byte("2")}))
	stats, err := w.Finish()
	testcheck.Must(t, err)
	if stats.Cells != 1 || int64(again.Len()) != stats.Bytes {
		t.Errorf("%d bytes of a second file, %+v", again.Len(), stats)
	}
}
