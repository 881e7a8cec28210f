package dialects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"bulkload/pkg/source"
)

// A reading is the result of package source for a file.
type reading struct {
	digest
	places  uint64 // of the rows: positions of their records
	rejects []reject
	err     string // "": everything was read
	splits  int
	longest int64 // split, in bytes
}

// A reject is a bad record.
type reject struct {
	Offset, Record, Since int64
	Column, Reason        string
	Raw                   uint32
}

// read reads a file with the given number of workers. Each takes the next free split.
func read(ctx context.Context, m *mem, name string, o source.Options, cols, workers int) reading {
	m.name = "/" + name
	var mu sync.Mutex
	var rejects []reject
	o.Reject = func(e source.RowError) error {
		mu.Lock()
		defer mu.Unlock()
		rejects = append(rejects, reject{e.Offset, e.Record, e.Since, e.Column, e.Reason, crc32.ChecksumIEEE(e.Raw)})
		return nil
	}
	all := reading{digest: newDigest(cols)}
	in, err := source.Open(ctx, m.resolve, []string{m.name}, o)
	if err != nil {
		all.err = err.Error()
		return all
	}
	splits := make([]reading, len(in.Splits()))
	all.splits = len(splits)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			r := in.NewReader()
			for i := int(next.Add(1)) - 1; i < len(splits); i = int(next.Add(1)) - 1 {
				splits[i] = reading{digest: newDigest(cols)}
				if err := r.Read(ctx, i, splits[i].take); err != nil {
					splits[i].err = err.Error()
				}
			}
		})
	}
	group.Wait()
	for i := range splits {
		all.longest = max(all.longest, in.Splits()[i].End-in.Splits()[i].Start)
		s := &splits[i]
		all.places = addmod(mulmod(all.places, s.pow), s.places)
		all.append(&s.digest)
		if all.err = s.err; all.err != "" {
			// A single reader would have stopped here.
			end := in.Splits()[i].End
			rejects = slices.DeleteFunc(rejects, func(r reject) bool { return r.Offset >= end })
			break
		}
	}
	slices.SortFunc(rejects, func(a, b reject) int { return cmp.Compare(a.Offset, b.Offset) })
	all.rejects = rejects
	return all
}

// take adds the rows of a batch.
func (r *reading) take(b *source.Batch) error {
	for i := range b.Rows {
		for c := range b.Cols {
			r.add(c, number(b.Field(i, c), b.Null(i, c)))
		}
		r.places = addmod(mulmod(r.places, base), uint64(b.Offsets[i]))
		r.row()
	}
	return nil
}

// differs describes the difference of two readings of a file, or returns "". Records of Avro have no positions of their
// own, and the number of records of a damaged block that are returned before its error depends on the chunks.
func (r *reading) differs(o *reading, places bool) string {
	switch {
	case r.err != o.err:
		return fmt.Sprintf("error %q and %q", r.err, o.err)
	case r.err != "" && !places:
		return ""
	case r.rows != o.rows:
		return fmt.Sprintf("%d rows and %d", r.rows, o.rows)
	case !slices.Equal(r.sums, o.sums):
		return fmt.Sprintf("sums %x and %x", r.sums, o.sums)
	case places && r.places != o.places:
		return "records begin at other places"
	case !slices.Equal(r.rejects, o.rejects):
		for i := range max(len(r.rejects), len(o.rejects)) {
			if i >= len(r.rejects) || i >= len(o.rejects) || r.rejects[i] != o.rejects[i] {
				return fmt.Sprintf("bad record %d: %+v and %+v", i+1, r.rejects[i:min(i+1, len(r.rejects))], o.rejects[i:min(i+1, len(o.rejects))])
			}
		}
	}
	return ""
}

var errEnough = errors.New("enough")

// firstDifference compares the rows of a file, one by one, with those of its table.
func firstDifference(ctx context.Context, m *mem, o source.Options, want func(yield func(row []value) bool)) string {
	in, err := source.Open(ctx, m.resolve, []string{m.name}, o)
	if err != nil {
		return err.Error()
	}
	rows := make(chan [][]byte, 64)
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(rows)
		r := in.NewReader()
		for i := range in.Splits() {
			if failed = r.Read(ctx, i, func(b *source.Batch) error {
				for i := range b.Rows {
					row := [][]byte{fmt.Appendf(nil, "%d", b.Offsets[i])}
					for c := range b.Cols {
						v := []byte(nil)
						if !b.Null(i, c) {
							v = append([]byte{}, b.Field(i, c)...)
						}
						row = append(row, v)
					}
					select {
					case rows <- row:
					case <-done:
						return errEnough
					}
				}
				return nil
			}); failed != nil {
				return
			}
		}
	}()
	n, text := 0, ""
	for row := range want {
		got, ok := <-rows
		if !ok {
			text = fmt.Sprintf("it ends behind row %d: %v", n, failed)
			break
		}
		if n++; !same(got[1:], row) {
			text = fmt.Sprintf("row %d, at byte %s: %q, want %s", n, got[0], got[1:], show(row))
			break
		}
	}
	close(done)
	for range rows { // ends its reader
	}
	if text == "" && failed != nil && failed != io.EOF {
		text = failed.Error()
	}
	return text
}

func same(got [][]byte, want []value) bool {
	for c, v := range want {
		if c >= len(got) || (got[c] == nil) != v.null || string(got[c]) != string(v.text) {
			return false
		}
	}
	return len(got) == len(want)
}

func show(row []value) (text string) {
	for _, v := range row {
		if v.null {
			text += "NULL "
		} else {
			text += fmt.Sprintf("%q ", v.text)
		}
	}
	return text
}
