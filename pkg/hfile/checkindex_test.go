package hfile

import (
	"errors"
	"strings"
	"testing"
)

// TestIndexEntryWithoutABlock checks that an index with a surplus entry is
// reported as damaged, and that an unreadable index block is not.
func TestIndexEntryWithoutABlock(t *testing.T) {
	r := &Reader{trailer: trailer{levels: 1}}
	r.root.add(placed{0, 100}, []byte("key"))
	var x indexProof
	x.start(r, nil)
	if err := x.finish(0, 0); !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "%!") {
		t.Errorf("an entry too many: %v", err)
	}
	broken := errors.New("no DataNode has it")
	r.trailer.levels = 2
	x.start(r, &blockReader{r: failingReader{broken}, limit: 1000})
	if err := x.finish(0, 0); !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
		t.Errorf("an index block that cannot be read: %v", err)
	}
}

type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }
