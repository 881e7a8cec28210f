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

// Magics of files, and of those whose footer is encrypted.
const (
	Magic          = "PAR1"
	EncryptedMagic = "PARE"
)

// A Limit is how much memory may be used.
type Limit struct {
	Bytes int64
	// Exceeded makes an error about what needs more than there is.
	Exceeded func(what string, need, have int64) error
}

// mostFooter bounds a footer where the memory does not.
const mostFooter = 1 << 30

// A File is a file's parsed footer. Once it is planned, any number of goroutines may use it.
type File struct {
	size   int64
	groups []int64     // rows of each row group
	footer *footer     // until the columns are known
	tree   *schemaNode // likewise

	rules textRules

	leaves []leaf        // what is read, a leaf twice if two columns have it
	flat   int           // how many of them, the first ones, are columns; the others are parts of nested columns
	nested []nestedPlace // the nested columns
	null   []int         // places of the columns that the file lacks
	fixed  []fixedPlace  // the columns with the same value in every row
	width  int           // how many columns there are
	chunks []columnChunk // row group by row group, of the leaves
	holds  int64         // about what a reader's buffers come to hold
}

// leaf is a column of values that is read.
type leaf struct {
	name    string // of the column that it is for, and of itself within that
	ordinal int    // in the file
	place   int    // of the column in the schema
	typ     columnType
}

// nestedPlace is a column that is a list, a map or a struct.
type nestedPlace struct {
	place int
	shape *shape
	first int // the ordinal of its first leaf after the flat ones
}

// fixedPlace is a column whose value is the same in every row.
type fixedPlace struct {
	place int
	value []byte
}

// A Column is a column of the batches that are read.
type Column struct {
	Name string // path of a field in the file, unless Null or Fixed
	// Null reports that it has no value, and Fixed that every row has Value.
	Null, Fixed bool
	Value       []byte
}

// columnChunk is where the pages of one column in one row group are.
type columnChunk struct {
	start, end int64
	codec      codec
	values     int64 // nulls and empty lists included
	unpacked   int64 // bytes, as the footer has it
	dictionary bool
}

// Sum returns a checksum of the columns that are read, and of where their pages are.
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

// castagnoli returns the polynomial of checksums: CRC32C has an instruction on every machine that this runs on.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // the table is made once

// usualPage is the size of a page of common writers: they begin a new page, and abandon a dictionary, at 1 MiB.
const usualPage = 1<<20 + 64<<10

// Open reads the footer of a file.
func Open(raw io.ReaderAt, size int64, limit Limit) (*File, error) {
	limit.Bytes = min(limit.Bytes, mostFooter)
	footer, err := readFooter(raw, size, limit)
	if err != nil {
		return nil, err
	}
	m := &File{size: size, footer: footer}
	for i := range footer.groups {
		m.groups = append(m.groups, footer.groups[i].rows)
	}
	if m.tree, err = footer.tree(); err != nil {
		return nil, damagedFooter("%w", err)
	}
	m.rules.calendars = valuetext.ParquetCalendars(footer.meta, m.tree.name)
	if strings.Contains(footer.meta["org.apache.spark.sql.parquet.row.metadata"], `"variant"`) {
		m.tree.markVariants()
	}
	footer.meta = nil // a schema may be in it, and files many
	if len(m.tree.kids) == 0 {
		return nil, errors.New("it has no columns")
	}
	return m, nil
}

// Groups returns the numbers of rows of the row groups.
func (m *File) Groups() []int64 { return m.groups }

// Names returns the columns of the schema, before it is planned what is read.
func (m *File) Names() []string { return m.tree.names() }

// Text says why the values of a column, by its ordinal among the names, cannot be text; nil if they can.
func (m *File) Text(column int) error {
	_, err := shapeOf(m.tree.kids[column], &m.rules, func(*schemaNode, columnType) int { return 0 })
	return err
}

// Leads reports whether a path leads to values that are no list, map or struct, and in none.
func (m *File) Leads(path string) bool {
	n := m.tree.find(path)
	return n != nil && n.leaf() && n.rep == 0
}

// Memory is about how many bytes the buffers of a [Reader] come to hold.
func (m *File) Memory() int64 { return m.holds }

// Plan decides what is read: values of these columns, with instants in the zone. Only for these it matters whether they can be read.
func (m *File) Plan(columns []Column, zone *time.Location) error {
	m.rules.zone, m.width = zone, len(columns)
	var inner []leaf
	for place, c := range columns {
		name := c.Name
		switch {
		case c.Null:
			m.null = append(m.null, place)
			continue
		case c.Fixed:
			m.fixed = append(m.fixed, fixedPlace{place, c.Value})
			continue
		}
		n := m.tree.find(name)
		if n == nil {
			return fmt.Errorf("column %s is nowhere in its schema", valuetext.Name(name))
		}
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
	m.footer, m.tree = nil, nil
	return nil
}

// planChunks finds the pages that are read, and the memory that they need.
func (m *File) planChunks() error {
	largest := make([]int64, len(m.leaves)) // of a leaf's buffers
	slack := m.footer.slack()
	m.chunks = make([]columnChunk, 0, len(m.footer.groups)*len(m.leaves))
	for g := range m.footer.groups {
		group := &m.footer.groups[g]
		for i, l := range m.leaves {
			if len(group.chunks) != m.tree.leaves {
				return fmt.Errorf("row group %d: it has %s, and the schema %d", g, setting.Count(len(group.chunks), "column"), m.tree.leaves)
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

// planChunk takes the place of a column's pages from the footer. Its size may lack slack bytes.
func (m *File) planChunk(c *footerChunk, rows int64, repeated bool, slack int64) (columnChunk, error) {
	chunk := columnChunk{start: c.data, codec: c.codec, values: c.values, unpacked: c.unpacked, dictionary: c.indexed}
	// Where it is not said where the dictionary is, it is where the data begin.
	if c.dictionary > 0 && c.dictionary < chunk.start {
		chunk.start, chunk.dictionary = c.dictionary, true
	}
	chunk.end = chunk.start + c.packed
	switch {
	case c.encrypted:
		return chunk, errors.New("it is encrypted: write it without encryption, or choose other columns")
	case rows == 0:
		return chunk, nil // and no pages, which are nowhere
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

// buffers returns how long a page and a dictionary of the chunk are likely to be.
func (c columnChunk) buffers() (page, dictionary int) {
	page = int(min(max(c.unpacked, 0), usualPage))
	if c.dictionary {
		dictionary = page
	}
	return page, dictionary
}
