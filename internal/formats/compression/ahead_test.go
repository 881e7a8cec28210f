package compression

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/testcheck"
)

// endless gives bytes until it is stopped, and then stands still at none.
type endless struct{ calls chan struct{} }

func (e endless) Read(p []byte) (int, error) {
	select {
	case e.calls <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestReadAhead: what comes is what the reader has, then its error, in any pieces.
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
	// Stop ends it where nothing is taken, and after a part.
	for _, take := range []int{0, 1, readAheadBlock + 1} {
		in := endless{make(chan struct{}, 1)}
		a := ReadAhead(in)
		_, err := io.ReadFull(a, make([]byte, take))
		testcheck.Must(t, err)
		<-in.calls
		a.Stop()
	}
}
