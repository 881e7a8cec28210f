package source

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bulkload/internal/test/testcheck"
)

// TestLongRecordsTakeTurns checks that one reader at a time has a record that takes more than a reader's memory, and that shorter ones do not wait.
func TestLongRecordsTakeTurns(t *testing.T) {
	for _, tt := range []struct {
		memory int64
		most   int32 // readers at the same time
	}{{0, 3}, {1 << 20, 1}, {1 << 30, 3}} {
		t.Run(fmt.Sprint(tt.memory), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer
				text.WriteString("a,b\n")
				for range 3 {
					fmt.Fprintf(&text, "%s,2\n", bytes.Repeat([]byte("x"), 700_000))
				}
				o := Options{Memory: tt.memory, ChunkSize: 16 << 10, SplitSize: 500_000}
				in, err := Open(t.Context(), memory("/x.csv", text.Bytes()), []string{"/x.csv"}, o)
				testcheck.Must(t, err)
				if len(in.Splits()) != 3 {
					t.Fatal(in.Splits())
				}
				var now, most, rows atomic.Int32
				open := make(chan struct{})
				done := make(chan error)
				for split := range 3 {
					go func() {
						done <- in.NewReader().Read(t.Context(), split, func(b *Batch) error {
							rows.Add(int32(b.Rows))
							most.Store(max(most.Load(), now.Add(1)))
							<-open
							now.Add(-1)
							return nil
						})
					}()
				}
				for range 3 {
					synctest.Wait()
					select {
					case open <- struct{}{}:
					default:
						t.Error("no reader has a record")
					}
				}
				testcheck.Must(t, errors.Join(<-done, <-done, <-done))
				if most.Load() != tt.most || rows.Load() != 3 {
					t.Errorf("%d readers at the same time, want %d; %d rows", most.Load(), tt.most, rows.Load())
				}
			})
		})
	}
}
