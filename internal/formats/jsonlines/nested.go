package jsonlines

// skipNested skips an object or an array, which begins at b[i], and only checks it for faults. depth is the number of
// objects and arrays around it. Its stack has one bit per level.
func skipNested(b []byte, i, depth int) (next int, f fault) {
	var objects [maxDepth / 64]uint64 // a bit for each level, which is set for an object
	level := 0
	object := false // whether the innermost level is an object
value:
	if i >= len(b) {
		return i, faultEnd
	}
	switch c := b[i]; c {
	case '{', '[':
		if depth+level >= maxDepth {
			return i, faultDeep
		}
		object = c == '{'
		if object {
			objects[level/64] |= 1 << (level % 64)
		} else {
			objects[level/64] &^= 1 << (level % 64)
		}
		level++
		i = skipBlanks(b, i+1)
		if i >= len(b) {
			return i, faultEnd
		}
		if b[i] == c+2 { // } is { plus 2, and ] is [ plus 2
			goto closed
		}
		if object {
			goto name
		}
		goto value
	case '"':
		if i, _, f = scanString(b, i+1); f != 0 {
			return i, f
		}
	default:
		if i, f = scanScalar(b, i); f != 0 {
			return i, f
		}
	}
afterValue:
	i = skipBlanks(b, i)
	if i >= len(b) {
		return i, faultEnd
	}
	switch {
	case b[i] == ',':
		i = skipBlanks(b, i+1)
		if i < len(b) && (b[i] == '}' || b[i] == ']') {
			return i, faultLastComma
		}
		if !object {
			goto value
		}
		goto name
	case object && b[i] == '}', !object && b[i] == ']':
		goto closed
	case object:
		return i, faultComma
	}
	return i, faultCommaArray
closed:
	i++
	level--
	if level == 0 {
		return i, 0
	}
	object = (objects[(level-1)/64]>>((level-1)%64))&1 == 1
	goto afterValue
name:
	if i >= len(b) {
		return i, faultEnd
	}
	if b[i] != '"' {
		return i, faultName
	}
	if i, _, f = scanString(b, i+1); f != 0 {
		return i, f
	}
	if i, f = scanColon(b, i); f != 0 {
		return i, f
	}
	goto value
}

// scanColon reads the colon after a name, with the blanks on both sides of it.
func scanColon(b []byte, i int) (next int, f fault) {
	i = skipBlanks(b, i)
	if i >= len(b) {
		return i, faultEnd
	}
	if b[i] != ':' {
		return i, faultColon
	}
	return skipBlanks(b, i+1), 0
}
