package hdfsio

import (
	"cmp"
	"hash/crc32"
	"io"
	"io/fs"
)

// Overlapped lets encoding continue during a write to the sink. It must be used
// by one goroutine.
type Overlapped struct {
	sink  Writer
	free  chan []byte
	full  chan []byte
	done  chan struct{}
	err   error // of the sink; read when done is closed
	open  bool
	Sum   uint32            // CRC-32C of the bytes written; read it after Drain
	wrote func(bytes int64) // called with the length of each piece written; may be nil
}

// overlapBuffers is the maximum number of pieces that wait or are being
// written; each is as large as the HFile writer's writes, about a megabyte.
const overlapBuffers = 2

// NewOverlapped returns a writer to the sink, which the caller closes after Drain. wrote may be nil; it is called by another goroutine with
// the length of each piece written.
func NewOverlapped(sink Writer, wrote func(bytes int64)) *Overlapped {
	o := &Overlapped{sink: sink, wrote: wrote, free: make(chan []byte, overlapBuffers), full: make(chan []byte, overlapBuffers), done: make(chan struct{}), open: true}
	for range overlapBuffers {
		o.free <- nil
	}
	go o.run()
	return o
}

// run writes until full is closed or the sink fails.
func (o *Overlapped) run() {
	defer close(o.done)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for b := range o.full {
		n, err := o.sink.Write(b)
		if n < len(b) && err == nil {
			err = io.ErrShortWrite
		}
		if o.err = err; err != nil {
			return
		}
		if o.wrote != nil {
			o.wrote(int64(len(b)))
		}
		o.Sum = crc32.Update(o.Sum, castagnoli, b)
		o.free <- b
	}
}

// Write queues a copy of p. The error is the sink's, also of an earlier piece, or [fs.ErrClosed] after Drain.
func (o *Overlapped) Write(p []byte) (int, error) {
	if !o.open {
		return 0, cmp.Or(o.err, fs.ErrClosed)
	}
	select {
	case b := <-o.free:
		o.full <- append(b[:0], p...)
		return len(p), nil
	case <-o.done:
		return 0, o.err
	}
}

// Drain waits until all bytes are written to the sink, and returns its error.
func (o *Overlapped) Drain() error {
	if o.open {
		o.open = false
		close(o.full)
	}
	<-o.done
	return o.err
}
