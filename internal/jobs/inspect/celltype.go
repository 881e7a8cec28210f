package inspect

import (
	"bytes"

	"bulkload/internal/formats/celltype"
)

// cellTypes lists the types that a draft job file may give a column, the preferred ones first. It omits floating-point types, because cells of these do
// not restore a text exactly.
func cellTypes() []celltype.Type {
	return []celltype.Type{{Type: "int"}, {Type: "long"}, {Type: "decimal"}, {Type: "boolean"}, {Type: "date"}, {Type: "timestamp"},
		{Type: "timestamp", Layout: "yyyy-MM-dd HH:mm:ss.SSS"}, {Type: "timestamp", Layout: "yyyy-MM-dd'T'HH:mm:ss"}}
}

// cellType holds the types whose cells restore every text of a column exactly.
type cellType struct {
	left []typedCell
	seen bool
	buf  []byte
}

type typedCell struct {
	celltype.Type
	to   celltype.Converter
	back celltype.Appender
}

// narrow removes the types that the value does not fit.
func (c *cellType) narrow(v []byte) {
	if !c.seen {
		c.seen = true
		for _, t := range cellTypes() {
			if to, err := t.Converter(); err == nil {
				c.left = append(c.left, typedCell{t, to, t.Appender()})
			}
		}
	}
	kept := c.left[:0]
	for _, t := range c.left {
		var err error
		if c.buf, err = t.to(c.buf[:0], v); err != nil {
			continue
		}
		n := len(c.buf)
		ok := false
		if c.buf, ok = t.back(c.buf, c.buf[:n:n]); ok && bytes.Equal(c.buf[n:], v) {
			kept = append(kept, t)
		}
	}
	c.left = kept
}

// cellType returns the type that a draft job file gives the column. It is text, the zero value, if the column has empty values, which no other type has.
func (c *Column) cellType() celltype.Type {
	if c.Empty > 0 || len(c.cell.left) == 0 {
		return celltype.Type{}
	}
	return c.cell.left[0].Type
}
