package orc

import (
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"bulkload/internal/formats/parquet"
	"bulkload/internal/formats/valuetext"
)

// A File holds the metadata of a file's tail. After [File.Plan], any number of goroutines may use it.
type File struct {
	parquet.Tree[*node]

	codec    codec
	block    int
	stripes  []stripe
	calendar valuetext.OrcCalendar
	sample   *stripeFooter // of the largest stripe, until Plan
	zone     *time.Location

	columns []place // columns to read
	nested  []place // lists, maps, structs and unions to read
	same    parquet.Constants
	width   int   // number of columns
	holds   int64 // approximate size of a reader's buffers
}

// place is a column to read.
type place struct {
	at   int // position in the schema
	name string
	path []*node // the enclosing structs, and the column itself last
}

func (p *place) node() *node { return p.path[len(p.path)-1] }

// maxFooter is the largest footer, in bytes, even if the memory limit allows more.
const maxFooter = 1 << 30

// Open reads the tail of a file. A file without rows may have no columns.
func Open(raw io.ReaderAt, size int64, limit parquet.Limit) (*File, error) {
	limit.Bytes = min(limit.Bytes, maxFooter)
	r := &source{raw: raw, limit: limit}
	f, err := readTail(r, size)
	if err != nil {
		return nil, err
	}
	m := &File{codec: r.codec, block: r.block, stripes: f.stripes, calendar: valuetext.CalendarOfOrc(f.calendar, f.writer)}
	root, err := f.tree()
	if err != nil {
		return nil, err
	}
	m.Tree = root.kids
	largest := -1
	for i, s := range m.stripes {
		if largest < 0 || s.data > m.stripes[largest].data {
			largest = i
		}
	}
	if largest >= 0 {
		if m.sample, err = readStripe(r, m.stripes[largest]); err != nil {
			return nil, fmt.Errorf("stripe %d: %w", largest, err)
		}
	}
	return m, nil
}

// Groups returns the number of rows of each stripe.
func (m *File) Groups() []int64 {
	groups := make([]int64, len(m.stripes))
	for i, s := range m.stripes {
		groups[i] = int64(s.rows)
	}
	return groups
}

// Text returns an error if the values of a column, given by its index in Tree, cannot be converted to text.
func (m *File) Text(column int) error { return m.Tree[column].check() }

// Leads reports whether a path leads to a value that is not a list, map, struct or union, and is not inside a list, map or union.
func (m *File) Leads(path string) bool {
	p := m.Find(path)
	return p != nil && !p[len(p)-1].kind.nested()
}

// Memory returns the approximate size in bytes of the buffers of a [Reader].
func (m *File) Memory() int64 { return m.holds }

// Plan sets the columns to read and the time zone of instants. Only these columns are checked for types that cannot be read.
func (m *File) Plan(columns []parquet.Column, zone *time.Location) error {
	m.zone, m.width = zone, len(columns)
	for at, c := range columns {
		if m.same.Add(at, c) {
			continue
		}
		p := place{at, c.Name, m.Find(c.Name)}
		if p.path == nil {
			return fmt.Errorf("column %s is not in its schema", valuetext.Name(c.Name))
		}
		for _, n := range p.path {
			if n.encrypted {
				return fmt.Errorf("column %s: %w", valuetext.Name(c.Name), n.check())
			}
		}
		if err := p.node().check(); err != nil {
			return fmt.Errorf("column %s: %w", valuetext.Name(c.Name), err)
		}
		if p.node().kind.nested() {
			m.nested = append(m.nested, p)
		} else {
			m.columns = append(m.columns, p)
		}
	}
	m.estimate()
	m.sample = nil
	return nil
}

// usualRatio is the usual compression ratio of streams.
const usualRatio = 4

// estimate sets holds to the approximate memory of a reader: a chunk of each stream of the largest stripe, and its dictionaries.
func (m *File) estimate() {
	m.holds = int64(2*m.block) + batchText
	if m.codec == codecNone {
		m.holds = window + batchText
	}
	if m.sample == nil {
		return
	}
	var add func(n *node)
	add = func(n *node) {
		for _, k := range []uint64{streamPresent, streamData, streamLength, streamSecondary, streamDictionary} {
			e := m.sample.streams[streamKey{uint64(n.id), k}]
			size := e.end - e.at
			most := int64(window)
			if m.codec != codecNone {
				size *= usualRatio
				most = int64(m.block)
			}
			if k != streamDictionary {
				size = min(size, most)
			}
			m.holds += size
		}
		if n.id < len(m.sample.encodings) {
			m.holds += columnMemory + 8*int64(min(m.sample.encodings[n.id].entries, 1<<30))
		}
		for _, kid := range n.kids {
			add(kid)
		}
	}
	for _, p := range append(m.columns[:len(m.columns):len(m.columns)], m.nested...) {
		add(p.node())
	}
}

// Sum returns a checksum of the columns to read and of the offsets of the stripes.
func (m *File) Sum() uint32 {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli)) // the table is made once
	var note func(n *node)
	note = func(n *node) {
		fmt.Fprintf(h, "%q %d %d %d;", n.name, n.id, n.kind, n.scale)
		for _, kid := range n.kids {
			note(kid)
		}
	}
	for _, places := range [][]place{m.columns, m.nested} {
		for _, p := range places {
			fmt.Fprintf(h, "%q %d ", p.name, len(p.path))
			note(p.node())
		}
	}
	fmt.Fprint(h, m.calendar, m.codec, m.block, m.stripes)
	return h.Sum32()
}
