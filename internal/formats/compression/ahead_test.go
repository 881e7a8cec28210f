package compression

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/testcheck"
)

// endless is a reader without an end. It signals its calls, if the channel has room.
type endless struct{ calls chan struct{} }

func (e endless) Read(p []byte) (int, error) {
	select {
	case e.calls <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestReadAhead checks that the data of the underlying reader arrive unchanged, followed by its error, in pieces of any
// size.
func TestReadAhead(t *testing.T) {
	r := testcheck.Rand(t)
	failure := errors.New("the disk is gone")
	for _, size := range []int{0, 1, readAheadBlock - 1, readAheadBlock, readAheadBlock + 1, 5*readAheadBlock + r.IntN(1000)} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		for want, in := range map[error]io.Reader{nil: iotest.DataErrReader(bytes.NewReader(data)), failure: io.MultiReader(bytes.NewReader(data), iotest.ErrReader(failure))} {
			a := ReadAhead(in)
			var got []byte
			var err error
			for err == nil {
				p := make([]byte, 1+r.IntN(100_000))
				var n int
				n, err = a.Read(p)
				got = append(got, p[:n]...)
			}
			if err != want && !(want == nil && err == io.EOF) || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes, %v", len(got), size, err)
			}
			if n, again := a.Read(make([]byte, 1)); n > 0 || again != err {
				t.Errorf("after the end %d, %v", n, again)
			}
			a.Stop()
		}
	}
	// Stop ends it whether none or a part of the data was read.
	for _, take := range []int{0, 1, readAheadBlock + 1} {
		in := endless{make(chan struct{}, 1)}
		a := ReadAhead(in)
		_, err := io.ReadFull(a, make([]byte, take))
		testcheck.Must(t, err)
		<-in.calls
		a.Stop()
	}
}
