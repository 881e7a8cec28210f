package source

import (
	"errors"
	"fmt"
	"hash/crc32"

	"bulkload/pkg/setting"
)

// parquetFile is what is kept of a file's footer.
type parquetFile struct {
	f      *inputFile
	groups []int64     // rows of each row group
	footer *footer     // until the columns are known
	tree   *schemaNode // likewise

	rules textRules

	leaves []leaf        // what is read, a leaf twice if two columns have it
	flat   int           // how many of them, the first ones, are columns; the others are parts of nested columns
	nested []nestedPlace // the nested columns
	null   []int         // places of the columns that the file lacks
	fixed  []fixedPlace  // columns of the file's path
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
	place    int
	constant constant
}

// columnChunk is where the pages of one column in one row group are.
type columnChunk struct {
	start, end int64
	codec      codec
	values     int64 // nulls and empty lists included
	unpacked   int64 // bytes, as the footer has it
	dictionary bool
}

// sum is a checksum of the columns that are read, and of where their pages are.
func (m *parquetFile) sum() uint32 {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
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

// usualPage is what a page of common writers holds: they begin a new one, and give up a dictionary, at 1 MiB.
const usualPage = 1<<20 + 64<<10

// plan decides what is read of a file for the columns of the schema, which are in the file as its order says. Only for
// these it matters whether they can be read.
func (m *parquetFile) plan(schema []string, o *Options) error {
	f := m.f
	m.rules.zone = o.Location
	var inner []leaf
	for place, name := range schema {
		from := place
		if f.order != nil {
			from = f.order[place]
		}
		switch {
		case from == placeNull:
			m.null = append(m.null, place)
			continue
		case from < placeNull:
			m.fixed = append(m.fixed, fixedPlace{place, f.constants[placeNull-1-from]})
			continue
		}
		n := m.tree.find(name)
		if n == nil {
			return fmt.Errorf("column %s is nowhere in its schema", nameText(name))
		}
		if n.leaf() && n.rep == 0 {
			t, err := typeOf(n, &m.rules)
			if err != nil {
				return fmt.Errorf("column %s: %w", nameText(name), err)
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
			return fmt.Errorf("column %s: %w", nameText(name), err)
		}
		m.nested = append(m.nested, nestedPlace{place, s, first})
	}
	m.flat = len(m.leaves)
	m.leaves = append(m.leaves, inner...)
	if err := m.planChunks(); err != nil {
		return err
	}
	m.footer, m.tree = nil, nil
	f.order, f.headSum = nil, m.sum()
	return nil
}

// planChunks finds the pages of what is read, and how much memory they ask for.
func (m *parquetFile) planChunks() error {
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
func (m *parquetFile) planChunk(c *footerChunk, rows int64, repeated bool, slack int64) (columnChunk, error) {
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
	case chunk.start < 4 || chunk.end < chunk.start || chunk.end > m.f.info.Size():
		return chunk, fmt.Errorf("its bytes %d to %d are not within the file", chunk.start, chunk.end)
	case c.values < rows || !repeated && c.values != rows:
		return chunk, fmt.Errorf("it has %s for %s", setting.Count(c.values, "value"), setting.Count(rows, "row"))
	}
	chunk.end = min(chunk.end+slack, m.f.info.Size())
	return chunk, chunk.codec.check()
}

// buffers is how long a page and a dictionary of the chunk are likely to be.
func (c columnChunk) buffers() (page, dictionary int) {
	page = int(min(max(c.unpacked, 0), usualPage))
	if c.dictionary {
		dictionary = page
	}
	return page, dictionary
}
