package listing

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestEachEndsWithTheFirstError checks that Each returns the first error in the order of the files, and starts few
// other files after it.
func TestEachEndsWithTheFirstError(t *testing.T) {
	files := make([]*File, 1000)
	for i := range files {
		files[i] = &File{Input: i}
	}
	var asked atomic.Int64
	bad := errors.New("bad")
	err := Each(t.Context(), files, func(_ context.Context, f *File) error {
		asked.Add(1)
		switch {
		case f.Input < 10:
			return nil
		case f.Input == 10:
			runtime.Gosched()
			return bad
		}
		return errors.New("later")
	})
	if err != bad || asked.Load() > 10+2*probeParallel {
		t.Errorf("%v after %d files", err, asked.Load())
	}
}
