package chunk

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
)

// TestFramesEnd checks that only io.EOF itself ends the chunks: a connection that is closed fails with an error that wraps it.
func TestFramesEnd(t *testing.T) {
	for _, c := range []struct {
		err  error
		ends bool
	}{{io.EOF, true}, {fmt.Errorf("connection: %w", io.EOF), false}} {
		src := NewFrameReader(iotest.ErrReader(c.err), "input")
		if _, _, err := src.Next(nil, nil); (err == io.EOF) != c.ends || !errors.Is(err, io.EOF) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", c.err, err)
		}
		if _, err := NewReader(Join(NewFrameReader(iotest.ErrReader(c.err), "input")), nil).Next(); (err == io.EOF) != c.ends {
			t.Errorf("%v, joined: %v", c.err, err)
		}
	}
}
