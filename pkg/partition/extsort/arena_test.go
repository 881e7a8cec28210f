package extsort

import (
	"fmt"
	"os"
	"testing"
)

// resident returns the memory of this process, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestArenaKeepsToItsLimit fills an arena with large rows, which have few entries, and then with small ones, which have many: rows and entries
// together take no more memory than the arena may have.
func TestArenaKeepsToItsLimit(t *testing.T) {
	const limit = 64 << 20
	before := resident(t)
	a, err := newArena(limit)
	if err != nil {
		t.Fatal(err)
	}
	defer a.release()
	for i, payload := range []int{4000, 13, 4000, 100} {
		rows := uint64(0)
		for ; a.room(8 + payload); rows++ {
			b := a.add(rows, rows, []byte("12345678"), payload)
			after := b[len(b):min(len(b)+16, cap(b))] // [Fill] may overwrite it
			copy(after, "----------------")
			b[0], b[len(b)-1] = byte(i), byte(i)
		}
		if got := int(rows) * (recordHeader + 8 + payload + entrySize); got > limit || got < limit-5000 || int(rows) != len(a.entries) {
			t.Errorf("%d rows, %d bytes", rows, got)
		}
		a.sortEntries()
		for n, e := range a.entries {
			if record, _ := a.record(e); e.sort != uint64(n) || len(record) != recordHeader+8+payload || record[recordHeader+8] != byte(i) || record[len(record)-1] != byte(i) {
				t.Fatalf("row %d of %d: %d bytes", n, rows, len(record))
			}
		}
		a.reset()
	}
	if took := resident(t) - before; took > limit+8<<20 {
		t.Errorf("the arena took %d MiB of %d", took>>20, limit>>20)
	}
}
