package rejects

import (
	"bytes"
	"path/filepath"
	"testing"

	"bulkload/pkg/setting"
)

// TestWorkForARejectIsConstant checks that the cost of a bad record depends neither on the number of bad records nor on
// its position.
func TestWorkForARejectIsConstant(t *testing.T) {
	f := NewFile(setting.RejectFile, filepath.Join(t.TempDir(), "r.jsonl"))
	split, form := 0, &Form{Version: 1}
	e := &Record{Path: "x.csv", Reason: "why", Raw: bytes.Repeat([]byte("x"), 80)}
	if err := f.Write(split, form, e); err != nil {
		t.Fatal(err)
	}
	f.spool.most = 64 << 10
	const splits, each, workers = 40, 500, 4
	for group := 0; group < splits; group += workers {
		for i := range each { // workers write concurrently
			for w := range workers {
				split, e.Offset = group+w, int64(i)
				if err := f.Write(split, form, e); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if s := f.spool; s.flushes < 10 || len(s.segments) > s.flushes*(workers+1)+splits || s.held > s.most {
		t.Errorf("%d segments of %d flushes, %d bytes held", len(s.segments), s.flushes, s.held)
	}
	if n := testing.AllocsPerRun(2000, func() {
		if err := f.Write(split, form, e); err != nil {
			t.Fatal(err)
		}
	}); n > 6 {
		t.Errorf("%v allocations for a record", n)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
}
