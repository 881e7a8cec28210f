package verify

import (
	"testing"
)

// TestRowsReadAtATimeAreBoundByBytes lets fewer large rows in at a time, the first alone.
func TestRowsReadAtATimeAreBoundByBytes(t *testing.T) {
	r := newRowRoom()
	leave, _, err := r.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.room.TryAcquire(1) {
		t.Error("the first row is not alone")
	}
	leave(sampleRoom / 4)
	for i := range 4 {
		if _, _, err := r.enter(t.Context()); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if r.room.TryAcquire(1) {
		t.Error("five rows of a quarter of the room each")
	}
}
