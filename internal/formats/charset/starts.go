package charset

// odd has the bits at odd positions.
const odd = 0xaaaaaaaaaaaaaaaa

// Starts marks the bytes at which characters begin in a block, the first 64 bytes of p: bit i stands for p[i]. An invalid sequence that
// [Charset.Append] replaces by one U+FFFD counts as a character.
//
// skip is the number of bytes at the start of the block that belong to a character that began before it: 0 for the first block of a text, and for
// every other block the next that Starts returned for the block before. Unless the text ends there, p must have [Ahead] more bytes after the block,
// so a caller that reads a text in pieces keeps the last Ahead bytes for the next piece. If p is shorter than a block, the bits after it are 0.
//
// In UTF-8, a character begins with each byte that is not 80 to BF, and skip does not matter. In UTF-16, code units are marked.
func (c *Charset) Starts(p []byte, skip int) (starts uint64, next int) {
	if c.form == single || len(p) < blockSize {
		return c.startsByStep(p, skip)
	}
	b := (*[blockSize]byte)(p)
	high := highMask(b)
	switch {
	case c.form == utf16Text:
		return c.startsByStep(p, skip)
	case high == 0:
		return ^uint64(0) << (skip & 7), 0
	case c.form == utf8Text:
		return ^continuationMask(b), 0
	case c.plain:
		return c.startsByRuns(p, b, high, skip)
	}
	return c.startsByStep(p, skip)
}

// startsByStep steps from character to character. It works for every set.
func (c *Charset) startsByStep(p []byte, skip int) (starts uint64, next int) {
	n := min(len(p), blockSize)
	if c.form == single {
		return ^(^uint64(0) << n), 0
	}
	if c.form == utf8Text {
		for i, b := range p[:n] {
			if b&0xc0 != 0x80 {
				starts |= 1 << i
			}
		}
		return starts, 0
	}
	i := skip
	for i < n {
		starts |= 1 << i
		i += c.size(p[i:])
	}
	return starts, i - n
}

// startsByRuns finds all trail bytes of a plain set at once. A run of bytes from 80 on begins with the start of a character, because the byte before
// it is ASCII or a trail byte in the ASCII range. So every second byte of a run is a trail byte, and so is the byte after a run of odd length.
// startsByStep handles the blocks where this reasoning may fail: they have an invalid lead byte (80, FF), or a trail byte that may be invalid or part
// of a four-byte character. BenchmarkStarts measures both functions.
func (c *Charset) startsByRuns(p []byte, b *[blockSize]byte, high uint64, skip int) (starts uint64, next int) {
	before := uint64(1)<<(skip&7) - 1
	run := high &^ before
	// Combined with the odd positions, the difference marks every second bit of a
	// run, from its first on, and the bit after a run of odd length. These are the
	// lead bytes, and the trail byte of a lead byte that ends a run.
	turned := ((run<<1 | odd) - run) ^ odd
	trails := turned ^ run
	leads := turned & run
	edge, euro := edgeMasks(b)
	unsure := trails&edge | leads&(edge|euro)
	if ascii := trails &^ high; ascii != 0 {
		if !c.asciiTrail {
			unsure |= ascii
		} else {
			unsure |= ascii & below40Mask(b)
		}
	}
	if leads>>63 != 0 {
		next = 1
		if len(p) == blockSize || p[blockSize] < 0x80 || p[blockSize] == 0xff {
			unsure = 1
		}
	}
	if unsure != 0 {
		return c.startsByStep(p, skip)
	}
	return ^(trails | before), next
}
