package source

import (
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestScanned checks that Open reports what it reads of a text to cut it: of a large one that takes minutes.
func TestScanned(t *testing.T) {
	data := []byte("id,v\n" + strings.Repeat("1,\"a\nb\"\n", 1000))
	var scanned atomic.Int64
	in, err := Open(t.Context(), memory("/x.csv", data), []string{"/x.csv"}, Options{SplitSize: 1000, Scanned: func(n int64) { scanned.Add(n) }})
	testcheck.Must(t, err)
	if got, want := scanned.Load(), int64(len(data)-len("id,v\n")); got != want || len(in.Splits()) < 2 {
		t.Errorf("%d bytes of %d, in %d splits", got, want, len(in.Splits()))
	}
}
