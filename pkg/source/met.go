package source

import (
	"sync"

	"bulkload/internal/formats/jsonlines"
)

// metColumns records for each column of the schema whether a file has it: by its header, its schema or its path, and for JSON lines by the
// records read.
type metColumns struct {
	mu  sync.Mutex
	has []bool
}

// begin records the columns that a file has before it is read. It is called before the file's content is planned, which may give it the order
// of the schema. Inputs that are the rest of another input, such as reject files, need not have all.
func (m *metColumns) begin(f *inputFile) {
	if f.Info.Size() == 0 && f.table() == nil {
		return
	}
	for i := range m.has {
		place := f.placeOf(i)
		m.has[i] = m.has[i] || place != placeNull && (place < 0 || !f.facts.Open || f.rejects != nil)
	}
}

// placeOf returns the position of a column of the schema in the file.
func (f *inputFile) placeOf(column int) int {
	if f.order == nil {
		return column
	}
	return f.order[column]
}

// noteColumns records the columns that lines of the current file have had so far. It is called after each split.
func (r *Reader) noteColumns(lines *jsonlines.Parser) {
	m := &r.in.met
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.has {
		if place := r.file.placeOf(i); !m.has[i] && place >= 0 {
			m.has[i] = lines.Met(place)
		}
	}
}

// Lacking returns the columns among [Options.Columns] that no file and no record read so far has, in their order. The result covers the
// whole input once all splits were read.
func (in *Input) Lacking() []string {
	if len(in.opts.Columns) == 0 {
		return nil
	}
	in.met.mu.Lock()
	defer in.met.mu.Unlock()
	var names []string
	for i, has := range in.met.has {
		if !has {
			names = append(names, in.columns[i])
		}
	}
	return names
}
