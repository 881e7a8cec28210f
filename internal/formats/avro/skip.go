package avro

// skip skips a value. Each step consumes at least one byte: values without bytes are not iterated.
func (c *cursor) skip(n *node) bool {
	if n.empty {
		return true
	}
	switch n.kind {
	case kindBoolean:
		_, ok := c.take(1)
		return ok
	case kindInt, kindLong, kindEnum:
		_, ok := c.long()
		return ok
	case kindFloat:
		_, ok := c.take(4)
		return ok
	case kindDouble:
		_, ok := c.take(8)
		return ok
	case kindFixed:
		_, ok := c.take(n.size)
		return ok
	case kindBytes, kindString:
		size, ok := c.length()
		c.at += size
		return ok
	case kindUnion:
		i, ok := c.index(len(n.branches), reasonBranch)
		return ok && c.skip(n.branches[i])
	case kindArray, kindMap:
		return c.enter() && c.skipItems(n)
	case kindRecord:
		if !c.enter() {
			return false
		}
		for i := range n.fields {
			if f := &n.fields[i]; !c.skip(f.node) {
				return c.faultIn(f.name)
			}
		}
		c.depth--
	}
	return true
}

// skipItems skips an array or a map. It skips blocks that record their size in one step.
func (c *cursor) skipItems(n *node) bool {
	for {
		count, size, ok := c.items(n.least())
		switch {
		case !ok:
			return false
		case count == 0:
			c.depth--
			return true
		case size >= 0:
			c.at += size
		case n.kind == kindArray && n.items.empty:
		default:
			for range count {
				if n.kind == kindMap {
					size, ok := c.length()
					if !ok {
						return false
					}
					c.at += size
				}
				if !c.skip(n.items) {
					return c.faultIn("[]")
				}
			}
		}
	}
}
