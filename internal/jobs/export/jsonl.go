package export

import (
	"io"
	"strings"

	"bulkload/internal/formats/celltype"
	"bulkload/pkg/keygen/rowkey"
)

// jsonEncoder writes one object per line.
type jsonEncoder struct {
	buffer
	plan   *Plan
	labels [][]byte
	bare   []bool // by column: values are numbers or booleans, which are written without quotes
	bytes  celltype.JSONForm
}

func newJSONEncoder(w io.Writer, p *Plan, most int) *jsonEncoder {
	e := &jsonEncoder{buffer: newBuffer(w, most), plan: p, bytes: celltype.Type{}.JSON()}
	for _, c := range p.columns {
		name := c.name
		if p.jsonPaths() { // the name is an escaped path, and every path here is a single name
			name = strings.NewReplacer(`\.`, `.`, `\\`, `\`).Replace(name)
		}
		label, err := celltype.AppendJSON(nil, []byte(name))
		if err != nil {
			label, _ = celltype.AppendJSON(nil, rowkey.Append(nil, []byte(name))) // ASCII cannot fail
		}
		e.labels = append(e.labels, append(label, ':'))
		form := c.typ.JSON()
		e.bare = append(e.bare, c.append != nil && form.Type != "string")
	}
	return e
}

func (e *jsonEncoder) row(r *row) (int, error) {
	e.b = append(e.b, '{')
	var err error
	for i := range r.values {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		if e.plan.open {
			e.cell(r, i)
			continue
		}
		e.b = append(e.b, e.labels[i]...)
		switch v := r.value(i); {
		case v == nil:
			e.b = append(e.b, "null"...)
		case e.plan.columns[i].bytes:
			e.b = e.bytes.Append(e.b, v)
		case e.bare[i] && finite(v):
			e.b = append(e.b, v...)
		default:
			if e.b, err = celltype.AppendJSON(e.b, v); err != nil {
				return i, errNotUTF8
			}
		}
	}
	e.b = append(e.b, "}\n"...)
	return -1, e.full()
}

// cell writes a member of a record that has every cell. The first member is the row key.
func (e *jsonEncoder) cell(r *row, i int) {
	label := r.labels[i].Of(r.data)
	switch {
	case i == 0:
		label = []byte(RowColumn)
	case i == 1 && e.plan.versions():
		label = []byte(StampColumn)
	}
	e.b = append(e.bytes.Append(e.b, label), ':')
	e.b = e.bytes.Append(e.b, r.value(i))
}

// finite reports whether a value is a JSON number, not one of the special values
// that JSON lacks.
func finite(v []byte) bool {
	return string(v) != "NaN" && string(v) != "Infinity" && string(v) != "-Infinity"
}

func (e *jsonEncoder) close() error { return e.flush() }
