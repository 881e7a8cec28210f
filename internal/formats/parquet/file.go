package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// Magic bytes of files, and of files whose footer is encrypted.
const (
	Magic          = "PAR1"
	EncryptedMagic = "PARE"
)

// A Limit is a memory limit.
type Limit struct {
	Bytes int64
	// Exceeded returns the error for something, such as a page, that needs more bytes than the limit allows.
	Exceeded func(what string, need, have int64) error
}

// maxFooter limits the size of a footer if the memory limit is higher.
const maxFooter = 1 << 30

// A File is the parsed footer of a file. After [File.Plan], any number of goroutines may use it.
type File struct {
	Tree[*schemaNode] // nil after Plan

	size   int64
	groups []int64 // rows of each row group
	footer *footer // nil after Plan

	rules textRules

	leaves []leaf        // the leaves to read; a leaf that two columns read occurs twice
	flat   int           // the number of leaves that are columns; they come first, and the others are parts of nested columns
	nested []nestedPlace // the nested columns
	same   Constants     // the columns with the same value in every row
	width  int           // number of columns
	chunks []columnChunk // row group by row group, of the leaves
	holds  int64         // approximate bytes of a reader's buffers
}

// leaf is a leaf column of the schema that is read.
type leaf struct {
	name    string // name of its column, and of the leaf within a nested column
	ordinal int    // in the file
	place   int    // place of its column among the planned columns
	typ     columnType
}

// nestedPlace is a column that is a list, a map, a struct or a VARIANT.
type nestedPlace struct {
	place int
	shape *shape
	first int // the ordinal of its first leaf after the flat ones
}

// columnChunk describes the pages of one column in one row group.
type columnChunk struct {
	start, end int64
	codec      codec
	values     int64 // nulls and empty lists included
	unpacked   int64 // bytes, according to the footer
	dictionary bool
}

// Sum returns a checksum of the columns that are read, of the row groups' numbers of rows, and of the positions and codecs of the pages.
func (m *File) Sum() uint32 {
	h := crc32.New(castagnoli())
	for _, l := range m.leaves {
		t := l.typ
		fmt.Fprintf(h, "%q %d %d %t %d %d %d %d;", l.name, t.kind, t.width, t.bytes, t.def, t.rep, t.scale, t.unit)
		if t.calendar != nil {
			fmt.Fprint(h, t.calendar.String())
		}
	}
	fmt.Fprint(h, m.groups)
	for _, c := range m.chunks {
		fmt.Fprint(h, c.start, c.end, c.codec)
	}
	return h.Sum32()
}

// castagnoli returns the table of CRC32C: every machine that this runs on has an instruction for it.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // the table is made once

// usualPage is the size of a page of common writers: they begin a new page, and abandon a dictionary, at 1 MiB.
const usualPage = 1<<20 + 64<<10

// Open reads the footer of a file.
func Open(raw io.ReaderAt, size int64, limit Limit) (*File, error) {
	limit.Bytes = min(limit.Bytes, maxFooter)
	footer, err := readFooter(raw, size, limit)
	if err != nil {
		return nil, err
	}
	m := &File{size: size, footer: footer}
	for i := range footer.groups {
		m.groups = append(m.groups, footer.groups[i].rows)
	}
	root, err := footer.tree()
	if err != nil {
		return nil, damagedFooter("%w", err)
	}
	m.rules.calendars = valuetext.ParquetCalendars(footer.meta, root.name)
	if strings.Contains(footer.meta["org.apache.spark.sql.parquet.row.metadata"], `"variant"`) {
		root.markVariants()
	}
	m.Tree = root.kids
	footer.meta = nil // it may contain a large schema, and there may be many files
	if len(root.kids) == 0 {
		return nil, errors.New("it has no columns")
	}
	return m, nil
}

// Groups returns the number of rows of each row group.
func (m *File) Groups() []int64 { return m.groups }

// Text returns an error if the values of a column, by its ordinal in Tree, cannot be converted to text.
func (m *File) Text(column int) error {
	_, err := shapeOf(m.Tree[column], &m.rules, func(*schemaNode, columnType) int { return 0 })
	return err
}

// Leads reports whether a path leads to values that are not lists, maps, structs or VARIANTs, and not within a list, a map or a VARIANT.
func (m *File) Leads(path string) bool {
	p := m.Find(path)
	return p != nil && p[len(p)-1].leaf() && p[len(p)-1].rep == 0
}

// Memory returns the approximate number of bytes of a [Reader]'s buffers.
func (m *File) Memory() int64 { return m.holds }

// Plan selects the columns to read, with instants in the zone. It fails if one of them cannot be read; other columns do not matter.
func (m *File) Plan(columns []Column, zone *time.Location) error {
	m.rules.zone, m.width = zone, len(columns)
	var inner []leaf
	for place, c := range columns {
		name := c.Name
		if m.same.Add(place, c) {
			continue
		}
		path := m.Find(name)
		if path == nil {
			return fmt.Errorf("column %s is not in its schema", valuetext.Name(name))
		}
		n := path[len(path)-1]
		if n.leaf() && n.rep == 0 {
			t, err := typeOf(n, &m.rules)
			if err != nil {
				return fmt.Errorf("column %s: %w", valuetext.Name(name), err)
			}
			m.leaves = append(m.leaves, leaf{name, n.first, place, t})
			continue
		}
		first := len(inner)
		s, err := shapeOf(n, &m.rules, func(n *schemaNode, typ columnType) int {
			inner = append(inner, leaf{name + " (" + n.name + ")", n.first, place, typ})
			return len(inner) - 1 - first
		})
		if err != nil {
			return fmt.Errorf("column %s: %w", valuetext.Name(name), err)
		}
		m.nested = append(m.nested, nestedPlace{place, s, first})
	}
	m.flat = len(m.leaves)
	m.leaves = append(m.leaves, inner...)
	if err := m.planChunks(); err != nil {
		return err
	}
	m.footer, m.Tree = nil, nil
	return nil
}

// planChunks computes the positions of the pages to read, and the memory that they need.
func (m *File) planChunks() error {
	largest := make([]int64, len(m.leaves)) // largest buffers of each leaf
	slack := m.footer.slack()
	last := m.Tree[len(m.Tree)-1]
	columns := last.first + last.leaves
	m.chunks = make([]columnChunk, 0, len(m.footer.groups)*len(m.leaves))
	for g := range m.footer.groups {
		group := &m.footer.groups[g]
		for i, l := range m.leaves {
			if len(group.chunks) != columns {
				return fmt.Errorf("row group %d: it has %s, and the schema %d", g, setting.Count(len(group.chunks), "column"), columns)
			}
			chunk, err := m.planChunk(&group.chunks[l.ordinal], group.rows, l.typ.rep > 0, slack)
			if err != nil {
				return fmt.Errorf("row group %d, column %s: %w", g, l.name, err)
			}
			m.chunks = append(m.chunks, chunk)
			page, dictionary := chunk.buffers()
			largest[i] = max(largest[i], int64(page+dictionary))
		}
	}
	for _, n := range largest {
		m.holds += n
	}
	m.holds += usualPage // a packed page
	m.holds += int64(len(m.leaves)-m.flat) * streamMemory
	if len(m.nested) > 0 {
		m.holds += batchText
	}
	return nil
}

// planChunk takes the position of a column's pages from the footer. The footer's size may be too small by up to slack bytes.
func (m *File) planChunk(c *footerChunk, rows int64, repeated bool, slack int64) (columnChunk, error) {
	chunk := columnChunk{start: c.data, codec: c.codec, values: c.values, unpacked: c.unpacked, dictionary: c.indexed}
	// Without an offset of the dictionary, the dictionary is at the offset of the data.
	if c.dictionary > 0 && c.dictionary < chunk.start {
		chunk.start, chunk.dictionary = c.dictionary, true
	}
	chunk.end = chunk.start + c.packed
	switch {
	case c.encrypted:
		return chunk, errors.New("it is encrypted: write it without encryption, or choose other columns")
	case rows == 0:
		return chunk, nil // it has no pages
	case c.elsewhere:
		return chunk, errors.New("its data are in another file, as those of a summary file are: name the data files")
	case !c.known:
		return chunk, errors.New("the footer does not say where its pages are")
	case chunk.start < 4 || chunk.end < chunk.start || chunk.end > m.size:
		return chunk, fmt.Errorf("its bytes %d to %d are not within the file", chunk.start, chunk.end)
	case c.values < rows || !repeated && c.values != rows:
		return chunk, fmt.Errorf("it has %s for %s", setting.Count(c.values, "value"), setting.Count(rows, "row"))
	}
	chunk.end = min(chunk.end+slack, m.size)
	return chunk, chunk.codec.check()
}

// buffers returns the likely size of a page and of the dictionary of the chunk.
func (c columnChunk) buffers() (page, dictionary int) {
	page = int(min(max(c.unpacked, 0), usualPage))
	if c.dictionary {
		dictionary = page
	}
	return page, dictionary
}
