package inspect

import (
	"bulkload/pkg/source/dialect"
)

// recordAt is a record of a reading.
type recordAt struct {
	cutter *cutter
	data   []byte
	fields []field
	start  int
	number int64 // in the file, from 1; headers do not count
}

func (r *recordAt) null(k int) bool {
	f := r.fields[k]
	return r.cutter.dialect.IsNull(r.data[f.from:f.to], f.quoted)
}

// records iterates over the records of the i-th text in a reading, without its header.
func (j *judge) records(r *reading, i int) func(yield func(*recordAt) bool) {
	return func(yield func(*recordAt) bool) {
		t := &j.texts[i]
		at, stop := j.bounds(t)
		c := newCutter(&r.dialect)
		header := r.dialect.Header == dialect.HeaderYes || r.dialect.Header == dialect.HeaderFirst && i == 0
		rec := &recordAt{cutter: c, data: t.data[:stop]}
		for at < stop {
			next, outcome := c.next(rec.data, at, t.whole)
			if outcome != recordWhole {
				return
			}
			start := at
			if at = next; c.blank() && r.scan.width > 1 {
				continue
			}
			if header {
				header = false
				continue
			}
			rec.fields, rec.start = c.fields, start
			rec.number++
			if !yield(rec) {
				return
			}
		}
	}
}
