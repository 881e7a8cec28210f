package avro

import (
	"fmt"

	hamba "github.com/hamba/avro/v2"

	"bulkload/internal/formats/valuetext"
)

type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindRecord
)

// kindNames are the names of kinds, in their order.
var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum", "array", "map", "union", "record"}

type logical uint8

const (
	logicalNone logical = iota
	logicalDecimal
	logicalUUID
	logicalDate
	logicalTime
	logicalInstant // a timestamp in UTC
	logicalLocal   // a timestamp without a zone
	logicalDuration
	logicalBigDecimal
)

// A node is a type of the schema. Nodes of named types are shared, and those of recursive types form cycles. They do not change once the schema is
// read.
type node struct {
	kind             kind
	logical          logical
	name             string // of a record, an enum, a fixed
	size             int    // of a fixed
	unit             int64  // of times: units in a second
	precision, scale int    // of decimals
	symbols          []string
	fields           []field
	items            *node // of an array; the values of a map
	branches         []*node
	calendar         *valuetext.Calendar // of a date or instant

	empty bool  // values take no bytes
	min   int64 // the least bytes of a value, 1 or more unless it is empty
}

type field struct {
	name string
	node *node
}

// A timeType is a logical type for times: its underlying type, and the units in a second.
type timeType struct {
	kind    kind
	logical logical
	unit    int64
}

// times maps the names of the logical types of times to these types.
var times = map[string]timeType{
	"date":                   {kindInt, logicalDate, 1},
	"time-millis":            {kindInt, logicalTime, 1e3},
	"time-micros":            {kindLong, logicalTime, 1e6},
	"timestamp-millis":       {kindLong, logicalInstant, 1e3},
	"timestamp-micros":       {kindLong, logicalInstant, 1e6},
	"timestamp-nanos":        {kindLong, logicalInstant, 1e9},
	"local-timestamp-millis": {kindLong, logicalLocal, 1e3},
	"local-timestamp-micros": {kindLong, logicalLocal, 1e6},
	"local-timestamp-nanos":  {kindLong, logicalLocal, 1e9},
}

// setLogical sets the logical type from the library, or from the properties if the library does not know it. A logical type that does not fit the
// type is ignored, as the Avro specification requires.
func (n *node) setLogical(known hamba.LogicalSchema, prop func(string) any) {
	name, _ := prop("logicalType").(string)
	precision, scale := integerProperty(prop("precision")), integerProperty(prop("scale"))
	if known != nil {
		name = string(known.Type())
		if d, ok := known.(*hamba.DecimalLogicalSchema); ok {
			precision, scale = d.Precision(), d.Scale()
		}
	}
	if t, ok := times[name]; ok && t.kind == n.kind {
		n.logical, n.unit = t.logical, t.unit
		return
	}
	switch {
	case name == "decimal" && (n.kind == kindBytes || n.kind == kindFixed) && precision > 0 && scale >= 0 && scale <= precision && n.holds(precision):
		n.logical, n.precision, n.scale = logicalDecimal, precision, scale
	case name == "uuid" && (n.kind == kindString || n.kind == kindFixed && n.size == 16):
		n.logical = logicalUUID
	case name == "duration" && n.kind == kindFixed && n.size == 12:
		n.logical = logicalDuration
	case name == "big-decimal" && n.kind == kindBytes:
		n.logical = logicalBigDecimal
	}
}

// setCalendar sets the calendar of the dates and instants in a node and its descendants to that of the file's writer.
func (n *node) setCalendar(c valuetext.Calendars, done map[*node]bool) {
	if n == nil || done[n] {
		return
	}
	done[n] = true
	switch n.logical {
	case logicalDate:
		n.calendar = c.Dates
	case logicalInstant:
		n.calendar = c.Instants
	}
	n.items.setCalendar(c, done)
	for _, b := range n.branches {
		b.setCalendar(c, done)
	}
	for i := range n.fields {
		n.fields[i].node.setCalendar(c, done)
	}
}

// holds reports whether decimals of the given precision fit into the type: they always fit into bytes, and into a fixed if it can hold 10^precision - 1.
func (n *node) holds(precision int) bool {
	return n.kind == kindBytes || float64(precision) <= float64(8*n.size-1)*0.30102999566398120
}

// integerProperty returns a property that is an integer, 0 if it is not a number, and -1 if it is out of range or has a fraction.
func integerProperty(v any) int {
	f, ok := v.(float64)
	switch {
	case !ok:
		return 0
	case f != float64(int32(f)):
		return -1
	}
	return int(f)
}

// measure computes empty and min of a node and its descendants. A type within itself counts as 1 byte there, so min is never too large.
func (n *node) measure(done map[*node]bool) {
	if done[n] {
		return
	}
	done[n] = true
	n.min = 1
	switch n.kind {
	case kindNull:
		n.empty, n.min = true, 0
	case kindFloat:
		n.min = 4
	case kindDouble:
		n.min = 8
	case kindFixed:
		n.empty, n.min = n.size == 0, int64(n.size)
	case kindArray, kindMap:
		n.items.measure(done)
	case kindUnion:
		for _, b := range n.branches {
			b.measure(done)
		}
	case kindRecord:
		empty, sum := true, int64(0)
		for i := range n.fields {
			f := n.fields[i].node
			f.measure(done)
			empty, sum = empty && f.empty, min(sum+f.min, 1<<40)
		}
		n.empty, n.min = empty, sum
	}
}

// least returns the least bytes of an item of an array or a map.
func (n *node) least() int64 {
	if n.kind == kindMap {
		return 1 + n.items.min
	}
	return n.items.min
}

// typeName returns the type's name for messages: long, decimal(18,2), long or null.
func (n *node) typeName() string {
	switch {
	case n.kind == kindUnion && n.nullable() >= 0:
		return n.branches[1-n.nullable()].typeName() + " or null"
	case n.logical == logicalDecimal:
		return fmt.Sprintf("decimal(%d,%d)", n.precision, n.scale)
	case n.logical == logicalUUID:
		return "uuid"
	case n.logical == logicalDuration:
		return "duration"
	case n.logical == logicalBigDecimal:
		return "big-decimal"
	case n.logical == logicalDate:
		return "date"
	case n.logical == logicalTime:
		return "time-" + unitName(n.unit)
	case n.logical == logicalInstant:
		return "timestamp-" + unitName(n.unit)
	case n.logical == logicalLocal:
		return "local-timestamp-" + unitName(n.unit)
	}
	return kindNames[n.kind]
}

func unitName(unit int64) string {
	switch unit {
	case 1e3:
		return "millis"
	case 1e6:
		return "micros"
	}
	return "nanos"
}

// nullable returns the index of the null branch in a union of null and one other type, and -1 for other types.
func (n *node) nullable() int {
	if n.kind == kindUnion && len(n.branches) == 2 {
		for i, b := range n.branches {
			if b.kind == kindNull && n.branches[1-i].kind != kindNull {
				return i
			}
		}
	}
	return -1
}
