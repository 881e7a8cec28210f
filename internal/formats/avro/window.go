package avro

import "io"

// chunk is the number of bytes read at a time, unless a block is longer.
const chunk = 256 << 10

// A window is the part of a file that is in memory.
type window struct {
	r    io.ReaderAt
	size int64 // of the file
	off  int64 // of buf in the file
	buf  []byte
}

// reset switches to another file and keeps the memory.
func (w *window) reset(r io.ReaderAt, size int64) {
	w.r, w.size, w.off, w.buf = r, size, 0, w.buf[:0]
}

// at returns n bytes at offset off, which are valid until the next call. Past the end of the file the error is io.ErrUnexpectedEOF. The caller limits
// n.
func (w *window) at(off int64, n int) ([]byte, error) {
	if n > int(min(w.size-off, int64(n))) {
		return nil, io.ErrUnexpectedEOF
	}
	if off < w.off || off+int64(n) > w.off+int64(len(w.buf)) {
		if err := w.fill(off, n); err != nil {
			return nil, err
		}
	}
	i := int(off - w.off)
	return w.buf[i : i+n], nil
}

// upTo returns n bytes at offset off, or fewer at the end of the file.
func (w *window) upTo(off int64, n int) ([]byte, error) {
	return w.at(off, int(min(max(w.size-off, 0), int64(n))))
}

// fill reads n bytes at offset off, or up to a chunk if n is smaller. It does not read again bytes that are in memory.
func (w *window) fill(off int64, n int) error {
	var kept []byte
	if off >= w.off && off < w.off+int64(len(w.buf)) {
		kept = w.buf[off-w.off:]
	}
	want := int(min(int64(max(n, chunk)), w.size-off))
	dst := w.buf[:0]
	if cap(dst) < want {
		dst = make([]byte, 0, want)
	}
	have := copy(dst[:want], kept)
	w.off, w.buf = off, dst[:0]
	if err := readFull(w.r, dst[have:want], off+int64(have)); err != nil {
		return err
	}
	w.buf = dst[:want]
	return nil
}
