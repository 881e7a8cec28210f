package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/avro"
)

// readAvro reads the blocks of a split. Batches do not reach beyond a block.
func (r *Reader) readAvro(s Split) (err error) {
	h, raw, err := r.file.open(r.ctx)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, h.Close()) }()
	if r.avro == nil {
		r.avro = avro.NewBlocks(max(r.in.opts.avroBlock(), 1))
	}
	r.avro.Open(r.file.avro.header, raw, s.Start, s.End)
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		buf, block, err := r.avro.Next(r.buf[:0])
		r.buf = buf[:cap(buf)]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return r.avroError(err)
		}
		var count [8]byte
		binary.LittleEndian.PutUint64(count[:], uint64(block.Records))
		r.sum = addSum(r.sum, count[:])
		r.sum = addSum(r.sum, buf[block.At:block.End])
		if err := r.readBlock(&block); err != nil {
			return err
		}
	}
}

// readBlock gives out the records of a block in one batch, or several where they are many or the texts made of them long.
func (r *Reader) readBlock(block *avro.Block) error {
	cols, most := r.file.cols, int64(batchRows)
	if cols > 0 {
		most = int64(wideBatch(cols))
	}
	for more := true; more; {
		r.extra = block.End
		first, k := block.Next, 0
		for more = block.Next < block.Records; more && block.Next-first < most && r.extra-block.End < r.in.opts.ChunkSize; more = block.Next < block.Records {
			r.growRow(k, cols)
			grown, err := r.file.avro.plan.Record(r.buf[:r.extra], block, r.fields[k:k+cols])
			if err != nil {
				return r.avroError(err)
			}
			r.buf, r.extra = grown[:cap(grown)], len(grown)
			k += cols
		}
		if err := r.emitBlock(block, first, k); err != nil {
			return err
		}
	}
	// What is after the last record is damage.
	if _, err := r.file.avro.plan.Record(r.buf[:block.End], block, nil); err != io.EOF {
		return r.avroError(err)
	}
	return nil
}

// emitBlock gives out the k fields of the records of a block from the one with the number first on, from 0.
func (r *Reader) emitBlock(block *avro.Block, first int64, k int) error {
	rows := int(block.Next - first)
	r.offsets = r.offsets[:0]
	for i := range int64(rows) {
		r.offsets = append(r.offsets, r.records+i)
	}
	fields, cols := r.fields[:k], r.file.cols
	if r.file.order != nil {
		fields, cols = r.picked(fields, r.offsets, r.extra), len(r.file.order)
	}
	r.batch = Batch{
		Split: r.split, Path: r.file.path, Data: r.buf[:r.extra], Fields: fields, Offsets: r.offsets,
		Rows: rows, Cols: cols, Bytes: share(block, block.Next) - share(block, first), First: r.records + 1,
		reader: r, block: block.Offset, number: first + 1,
	}
	r.records += int64(rows)
	if r.quiet {
		return nil
	}
	return r.emit(&r.batch)
}

// share is how many of a block's bytes are those of its first n records, all taken for equally long.
func share(block *avro.Block, n int64) int64 {
	return int64(float64(block.Size) * (float64(n) / float64(block.Records)))
}

// avroError names the file, and what takes more than the reader's memory.
func (r *Reader) avroError(err error) error {
	if e, ok := errors.AsType[*avro.SizeError](err); ok {
		err = avroMemory(e, &r.in.opts)
	}
	return fmt.Errorf("%s: %w", r.file.path, err)
}
