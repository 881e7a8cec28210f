package source

import (
	"context"
	"fmt"
)

// countWithin is how far into a file the records before a place are counted to give a bad record its number. It takes
// about a second.
const countWithin = 1 << 30

// recordsBefore is how many records of the file precede a split, or a byte of the file since when nothing was counted.
// Which of the two does not depend on what has been read before.
func (in *Input) recordsBefore(ctx context.Context, split int) (records, since int64) {
	s := in.splits[split]
	f := in.files[s.File]
	switch {
	case f.format == FormatParquet:
		return s.Start, 0
	case split == f.firstSplit:
		return 0, 0
	case s.Start > countWithin:
		return 0, s.Start
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lookups++
	var r *Reader
	for i := f.firstSplit; i < split; i++ {
		n := in.counts[i].Load()
		if n < 0 {
			if r == nil {
				r = in.NewReader()
				r.quiet = true
			}
			if err := r.Read(ctx, i, nil); err != nil {
				return 0, s.Start // it cannot be read; that error will come from its own reader
			}
			n = in.counts[i].Load()
		}
		records += n
	}
	return records, 0
}

// Records is how many records the splits had that were read to their end, good and bad ones. It is the whole input's
// number once all were.
func (in *Input) Records() int64 {
	var n int64
	for i := range in.counts {
		n += max(0, in.counts[i].Load())
	}
	return n
}

// Place says where a record lies, from what [Batch.Offsets] says of it, for a message.
func (in *Input) Place(split int, offset int64) string {
	s := in.splits[split]
	switch in.files[s.File].format {
	case FormatTable:
		return fmt.Sprintf("%s, row %d", s.Path, offset+1)
	case FormatAvro:
		return fmt.Sprintf("%s, record %d of the blocks from byte %d on", s.Path, offset+1, s.Start)
	}
	return fmt.Sprintf("%s at offset %d", s.Path, offset)
}
