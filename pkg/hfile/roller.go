package hfile

// DefaultMaxFile is the default of [Roller].Max: HBase's
// hbase.hregion.max.filesize.
const DefaultMaxFile = 10 << 30

// A Roller decides where a file ends and the next begins, as HFileOutputFormat2
// (2.6.4) does: before the first row whose first cell would bring the file to Max
// bytes of raw cells. Bytes are counted before encoding and compression, so files
// are usually smaller than Max. A row is never cut, so a file may also be larger.
//
//	if roller.EndBefore(w.Written(), w.FirstLen(row, values)) {
//		// finish w, open the next one
//	}
//	w.AppendRow(row, values)
type Roller struct {
	Max int64 // bytes of raw cells in a file, default DefaultMaxFile
}

// EndBefore reports whether a file with the given number of bytes written ends before
// a new row whose first cell has the given length. It is false for an empty file.
func (r Roller) EndBefore(written, first int64) bool {
	most := r.Max
	if most <= 0 {
		most = DefaultMaxFile
	}
	return written > 0 && written+first >= most
}

// CellLen returns the size of a raw cell in bytes: two lengths, the key, the value,
// and the tags with their length if there are any.
func CellLen(c *Cell) int64 {
	n := int64(8 + keyOverhead + len(c.Row) + len(c.Family) + len(c.Qualifier) + len(c.Value))
	if len(c.Tags) > 0 {
		n += 2 + int64(len(c.Tags))
	}
	return n
}

// Written returns the sum of [CellLen] of the cells appended so far.
func (w *Writer) Written() int64 {
	return 8*w.info.cells + w.info.keyBytes + w.info.valueBytes + w.info.tagBytes
}

// Written returns [Writer.Written] of the underlying writer.
func (r *RowWriter) Written() int64 { return r.writer.Written() }

// FirstLen returns [CellLen] of a row's first cell, 0 if the row has none.
// Values are as in [RowWriter.AppendRow].
func (r *RowWriter) FirstLen(row []byte, values [][]byte) int64 {
	for i, v := range values {
		if v != nil {
			return int64(8 + keyOverhead + len(row) + len(r.writer.options.Family) + len(r.schema.Qualifiers[i]) + len(v))
		}
	}
	return 0
}
