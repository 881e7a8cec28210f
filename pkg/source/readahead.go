package source

import (
	"io"
	"sync"
)

const (
	readAheadBlock  = 256 << 10
	readAheadBlocks = 3
	// readAheadMemory is what reading a packed file ahead takes, the unpacker's window included.
	readAheadMemory = readAheadBlock*readAheadBlocks + 8<<20
)

// readAhead reads a stream in a goroutine of its own, so that making its bytes and using them overlap.
type readAhead struct {
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

func startReadAhead(r io.Reader) *readAhead {
	a := &readAhead{full: make(chan block, readAheadBlocks), empty: make(chan []byte, readAheadBlocks), stop: make(chan struct{})}
	for range readAheadBlocks {
		a.empty <- make([]byte, readAheadBlock)
	}
	a.done.Go(func() { a.run(r) })
	return a
}

func (a *readAhead) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		n, err := 0, error(nil)
		for n < len(buf) && err == nil { // not io.ReadFull, which makes a torn stream of one that ends here
			var m int
			m, err = r.Read(buf[n:])
			n += m
		}
		a.full <- block{buf[:n], err} // there is room for all blocks
		if err != nil {
			return
		}
	}
}

// Read implements [io.Reader].
func (a *readAhead) Read(p []byte) (int, error) {
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

// Stop ends the goroutine and waits for it. What is being read is read to its end.
func (a *readAhead) Stop() {
	close(a.stop)
	a.done.Wait()
}

// aheadFS is a file system whose files read ahead, and hold so much for it.
type aheadFS interface{ ReadAheadMemory() int64 }

// aheadFile is a file that takes some time to give its first byte, and can be asked before.
type aheadFile interface {
	// Within says that the bytes from start to end will be read in their order, and of what follows few.
	Within(start, end int64)
}

// within says which bytes of the file will be read.
func (s *textStream) within(start, end int64) {
	if f, ok := s.f.(aheadFile); ok {
		f.Within(start, end)
	}
}
