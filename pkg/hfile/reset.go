package hfile

import "io"

// Reset prepares the writer for another file with the same options and schema. It reuses the writer's memory, which pays off for
// the many small files of a table with many regions. The previous file must have been finished without an error.
func (r *RowWriter) Reset(out io.Writer) {
	r.writer.reset(out)
	r.helpers = nil
}

func (w *Writer) reset(out io.Writer) {
	w.blocks.reset(out)
	w.index.reset()
	if w.bloom != nil {
		w.bloom.reset()
	}
	if w.delete != nil {
		w.delete.reset()
	}
	biggest := w.info.biggestKey[:0]
	w.info = newFileStats()
	w.info.biggestKey = biggest
	w.started, w.finished, w.err, w.stats = false, false, nil, Stats{}
	w.dataBlocks, w.firstData, w.lastData, w.total = 0, -1, -1, 0
	w.prevAt, w.prevLen = 0, 0
	w.startBlock()
}

func (b *blockWriter) reset(out io.Writer) {
	b.out, b.buf, b.base, b.err = out, b.buf[:0], 0, nil
	for i := range b.prev {
		b.prev[i] = -1
	}
}

func (x *indexWriter) reset() {
	x.leaf.reset()
	x.root.reset()
	x.rootNums, x.blocks, x.uncompressed = x.rootNums[:0], 0, 0
}

func (b *bloomWriter) reset() {
	b.entries.reset()
	b.keys, b.total, b.maxKeys, b.byteSize = 0, 0, 0, 0
}
