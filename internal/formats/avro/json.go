package avro

import (
	"encoding/base64"
	"slices"

	"bulkload/internal/formats/valuetext"
)

// json takes a value and appends it as JSON without blanks: see the package's documentation for the rules.
func (c *cursor) json(n *node) bool {
	for n.kind == kindUnion {
		i, ok := c.index(len(n.branches), reasonBranch)
		if !ok {
			return false
		}
		n = n.branches[i]
	}
	if !c.fits(0) {
		return false
	}
	switch n.kind {
	case kindNull:
		c.buf = append(c.buf, "null"...)
	case kindArray, kindMap:
		return c.enter() && c.jsonItems(n)
	case kindRecord:
		if !c.enter() {
			return false
		}
		c.buf = append(c.buf, '{')
		for i := range n.fields {
			f := &n.fields[i]
			if i > 0 {
				c.buf = append(c.buf, ',')
			}
			c.buf = append(valuetext.AppendJSON(c.buf, f.name), ':')
			if !c.json(f.node) {
				return c.faultIn(f.name)
			}
		}
		c.buf = append(c.buf, '}')
		c.depth--
	case kindString, kindBytes, kindFixed:
		return c.jsonOctets(n)
	default:
		return c.jsonScalar(n)
	}
	return true
}

// jsonItems appends an array, or a map with its entries in stored order.
func (c *cursor) jsonItems(n *node) bool {
	open, shut := byte('['), byte(']')
	if n.kind == kindMap {
		open, shut = '{', '}'
	}
	c.buf = append(c.buf, open)
	first := true
	for {
		count, size, ok := c.items(n.least())
		if !ok {
			return false
		}
		if count == 0 {
			break
		}
		from := c.at
		for range count {
			if !first {
				c.buf = append(c.buf, ',')
			}
			first = false
			if n.kind == kindMap {
				size, ok := c.length()
				if !ok || !c.fits(size) {
					return false
				}
				c.buf = append(valuetext.AppendJSON(c.buf, c.buf[c.at:c.at+size]), ':')
				c.at += size
			}
			if !c.json(n.items) {
				return c.faultIn("[]")
			}
		}
		if size >= 0 && c.at-from != size {
			return c.fail("the items of an array or a map do not take the bytes that it says")
		}
	}
	c.buf = append(c.buf, shut)
	c.depth--
	return true
}

// jsonScalar appends a number or a boolean unquoted, other values as a string.
func (c *cursor) jsonScalar(n *node) bool {
	if n.kind == kindEnum {
		i, ok := c.index(len(n.symbols), reasonSymbol)
		if ok {
			c.buf = valuetext.AppendJSON(c.buf, n.symbols[i])
		}
		return ok
	}
	start := len(c.buf)
	if !c.scalar(n) {
		return false
	}
	if t := c.buf[start:]; n.logical != logicalNone || t[0] == 'N' || t[0] == 'I' || t[0] == '-' && t[1] == 'I' {
		c.buf = append(slices.Insert(c.buf, start, '"'), '"') // a date, a time, NaN or Infinity, which needs no escapes
	}
	return true
}

// jsonOctets appends a string, a decimal, a uuid, or bytes as base64.
func (c *cursor) jsonOctets(n *node) bool {
	size, ok := n.size, true
	if n.kind != kindFixed {
		if size, ok = c.length(); !ok {
			return false
		}
	}
	at, ok := c.take(size)
	if !ok {
		return false
	}
	switch {
	case n.logical == logicalDecimal:
		return c.octets(n, at, size)
	case n.kind == kindString:
		if !c.fits(size) {
			return false
		}
		c.buf = valuetext.AppendJSON(c.buf, c.buf[at:c.at])
	case n.logical == logicalUUID:
		c.buf = append(valuetext.AppendUUID(append(c.buf, '"'), c.buf[at:c.at]), '"')
	default:
		if !c.fits(base64.StdEncoding.EncodedLen(size)) {
			return false
		}
		c.buf = append(base64.StdEncoding.AppendEncode(append(c.buf, '"'), c.buf[at:c.at]), '"')
	}
	return true
}
