package compression

import (
	"io"
	"sync"
)

const (
	readAheadBlock  = 256 << 10
	readAheadBlocks = 3
	// AheadMemory is the memory that reading ahead of a packed file takes, including the unpacker's window.
	AheadMemory = readAheadBlock*readAheadBlocks + 8<<20
)

// Ahead reads a stream in another goroutine, so that unpacking and use of its bytes overlap.
type Ahead struct {
	full  chan block
	empty chan []byte
	stop  chan struct{}
	done  sync.WaitGroup

	at  block // the current block
	off int
}

type block struct {
	data []byte
	err  error // after data
}

// ReadAhead begins to read r. Stop ends it.
func ReadAhead(r io.Reader) *Ahead {
	a := &Ahead{full: make(chan block, readAheadBlocks), empty: make(chan []byte, readAheadBlocks), stop: make(chan struct{})}
	for range readAheadBlocks {
		a.empty <- make([]byte, readAheadBlock)
	}
	a.done.Go(func() { a.run(r) })
	return a
}

func (a *Ahead) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		n, err := 0, error(nil)
		for n < len(buf) && err == nil { // io.ReadFull would report io.ErrUnexpectedEOF for a stream that ends within the buffer
			var m int
			m, err = r.Read(buf[n:])
			n += m
		}
		a.full <- block{buf[:n], err} // never blocks: the channel has room for all blocks
		if err != nil {
			return
		}
	}
}

func (a *Ahead) Read(p []byte) (int, error) {
	for a.off == len(a.at.data) {
		if a.at.err != nil {
			return 0, a.at.err
		}
		if a.at.data != nil {
			a.empty <- a.at.data[:cap(a.at.data)]
		}
		a.at, a.off = <-a.full, 0
	}
	n := copy(p, a.at.data[a.off:])
	a.off += n
	return n, nil
}

// Stop ends the goroutine and waits for it. A read that is in progress is not interrupted.
func (a *Ahead) Stop() {
	close(a.stop)
	a.done.Wait()
}
