package source

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/avro"
)

// avroReader reads blocks.
type avroReader struct {
	reader *Reader
	blocks *avro.Blocks
	plan   *avro.Plan // of the current file
}

func (avroFormat) reader(r *Reader) splitReader {
	return &avroReader{reader: r, blocks: avro.NewBlocks(max(r.in.opts.avroBlock(), 1))}
}

// read reads the blocks of a split. A batch has records of one block only.
func (a *avroReader) read(s Split) (err error) {
	r, file := a.reader, a.reader.file.content.(*avroFile)
	h, raw, err := r.file.Open(r.ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, h.Close()) }()
	a.plan = file.decode
	a.blocks.Open(file.header, raw, s.Start, s.End)
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		buf, block, err := a.blocks.Next(r.buf[:0])
		r.buf = buf[:cap(buf)]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return a.fail(err)
		}
		var count [8]byte
		binary.LittleEndian.PutUint64(count[:], uint64(block.Records))
		r.sum = addSum(r.sum, count[:])
		r.sum = addSum(r.sum, buf[block.At:block.End])
		if err := a.block(&block); err != nil {
			return err
		}
	}
}

// block emits the records of a block in one batch, or in several if they are many or their texts are long.
func (a *avroReader) block(block *avro.Block) error {
	r := a.reader
	cols, most := r.file.cols, int64(batchRows)
	if cols > 0 {
		most = int64(wideBatch(cols))
	}
	for more := true; more; {
		r.extra = block.End
		first, k := block.Next, 0
		for more = block.Next < block.Records; more && block.Next-first < most && r.extra-block.End < r.in.opts.ChunkSize; more = block.Next < block.Records {
			r.growRow(k, cols)
			grown, err := a.plan.Record(r.buf[:r.extra], block, r.fields[k:k+cols])
			if err != nil {
				return a.fail(err)
			}
			r.buf, r.extra = grown[:cap(grown)], len(grown)
			k += cols
		}
		if err := a.emit(block, first, k); err != nil {
			return err
		}
	}
	// Bytes after the last record are damage.
	if _, err := a.plan.Record(r.buf[:block.End], block, nil); err != io.EOF {
		return a.fail(err)
	}
	return nil
}

// emit emits the k fields of a block's records, starting with record number first, from 0.
func (a *avroReader) emit(block *avro.Block, first int64, k int) error {
	return a.reader.giveNumbered(a.reader.fields[:k], a.reader.records, int(block.Next-first),
		Batch{Bytes: share(block, block.Next) - share(block, first), block: block.Offset, number: first + 1})
}

// share returns the number of a block's bytes that its first n records take, assuming equal lengths.
func share(block *avro.Block, n int64) int64 {
	return int64(float64(block.Size) * (float64(n) / float64(block.Records)))
}

// fail adds the name of the file, and explains an object that exceeds the reader's memory.
func (a *avroReader) fail(err error) error {
	if e, ok := errors.AsType[*avro.SizeError](err); ok {
		err = avroMemory(e, &a.reader.in.opts)
	}
	return fmt.Errorf("%s: %w", a.reader.file.Path, err)
}
