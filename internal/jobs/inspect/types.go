package inspect

import (
	"bytes"
	"strconv"

	"bulkload/internal/formats/celltype"
)

// Type is the apparent type of a column's values, with its name in job files if they have it.
type Type string

// Types.
const (
	TypeText      Type = "text"
	TypeInt       Type = "int"
	TypeLong      Type = "long"
	TypeDecimal   Type = "decimal"
	TypeDouble    Type = "double"
	TypeDate      Type = "date"
	TypeTimestamp Type = "timestamp"
	TypeTime      Type = "time"
	TypeBoolean   Type = "boolean"
	TypeJSON      Type = "json"
	TypeUnknown   Type = "unknown" // there are no values
)

// class returns a number that is the same for types that may occur in one column. It is 0 for text, which is no evidence of anything.
func (t Type) class() int {
	switch t {
	case TypeInt, TypeLong, TypeDecimal, TypeDouble:
		return 1
	case TypeDate, TypeTimestamp:
		return 2
	case TypeBoolean:
		return 3
	case TypeTime:
		return 4
	}
	return 0
}

// typeOf returns the apparent type of one value. Numbers with leading zeros are text: they are usually codes.
func typeOf(v []byte) Type {
	if len(v) == 0 || len(v) > 40 {
		return longType(v)
	}
	switch {
	case isNumber(v):
		return numberType(v)
	case string(v) == "true" || string(v) == "false" || string(v) == "TRUE" || string(v) == "FALSE" || string(v) == "True" || string(v) == "False":
		return TypeBoolean
	case shaped(v, "dddd-dd-dd") || shaped(v, "dddd/dd/dd"):
		return TypeDate
	case len(v) >= 16 && (shaped(v[:10], "dddd-dd-dd") || shaped(v[:10], "dddd/dd/dd")) && (v[10] == ' ' || v[10] == 'T') && shaped(v[11:16], "dd:dd") && tailOfTime(v[16:]):
		return TypeTimestamp
	case len(v) >= 5 && shaped(v[:5], "dd:dd") && tailOfTime(v[5:]):
		return TypeTime
	}
	return longType(v)
}

func longType(v []byte) Type {
	if len(v) > 1 && (v[0] == '{' && v[len(v)-1] == '}' || v[0] == '[' && v[len(v)-1] == ']') && bytes.ContainsAny(v, `":,`) {
		return TypeJSON
	}
	return TypeText
}

func shaped(v []byte, form string) bool {
	if len(v) != len(form) {
		return false
	}
	for i := range v {
		if form[i] == 'd' && (v[i] < '0' || v[i] > '9') || form[i] != 'd' && v[i] != form[i] {
			return false
		}
	}
	return true
}

// tailOfTime reports whether the bytes may follow hours and minutes: seconds, a fraction and a zone.
func tailOfTime(v []byte) bool {
	return len(bytes.Trim(v, "0123456789:.+-Z ")) == 0
}

func isNumber(v []byte) bool {
	i, digits := 0, 0
	if v[0] == '-' || v[0] == '+' {
		i++
	}
	for ; i < len(v); i++ {
		switch c := v[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' || c == 'e' || c == 'E':
		case (c == '-' || c == '+') && (v[i-1] == 'e' || v[i-1] == 'E') && i > 0:
		default:
			return false
		}
	}
	return digits > 0 && bytes.Count(v, []byte{'.'}) < 2 && bytes.Count(bytes.ToLower(v), []byte{'e'}) < 2 && v[0] != 'e' && v[0] != 'E' && v[len(v)-1] != 'e' && v[len(v)-1] != 'E'
}

func numberType(v []byte) Type {
	digits := bytes.TrimLeft(v, "+-")
	switch {
	case bytes.ContainsAny(v, "eE"):
		return TypeDouble
	case len(digits) > 1 && digits[0] == '0' && digits[1] != '.':
		return TypeText
	case bytes.IndexByte(v, '.') >= 0:
		return TypeDecimal
	}
	for _, t := range []struct {
		bits int
		typ  Type
	}{{32, TypeInt}, {64, TypeLong}} {
		if _, err := strconv.ParseInt(string(v), 10, t.bits); err == nil {
			return t.typ
		}
	}
	return TypeDecimal
}

// join returns the type of a column that has values of both types.
func join(a, b Type) Type {
	switch {
	case a == TypeUnknown || a == b:
		return b
	case b == TypeUnknown:
		return a
	case a.class() == 0 || a.class() != b.class():
		return TypeText
	case a.class() == 2:
		return TypeTimestamp
	}
	for _, t := range []Type{TypeDouble, TypeDecimal} {
		if a == t || b == t {
			return t
		}
	}
	return TypeLong
}

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
