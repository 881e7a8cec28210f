package charset

// A privateRun is a run of pairs that encode consecutive characters of the private use area. x/text has none of them.
type privateRun struct {
	pair  uint16
	first rune
	n     int
}

// privateBlank is the pair of GB18030 that the WHATWG decodes as an ideographic
// space. The standard, Java and Python decode it as U+E5E5.
const privateBlank = 0xa3a0

// privateUse assigns the private use characters of the standard to pairs that are not characters yet. Databases keep such characters in names of
// people and places for which a set has no character.
func (t *tables) privateUse(runs []privateRun) {
	for _, run := range runs {
		for i := range run.n {
			pair := int(run.pair) + i
			if e := &t.two[pair]; *e&rare != 0 && e.size() == 2 || pair == privateBlank {
				*e = entryOf(string(run.first+rune(i)), 2)
			}
		}
	}
}

// area appends a run for each lead byte from lead to last, with the trail bytes from from to to, except 7F.
func area(runs []privateRun, lead, last, from, to int, first rune) []privateRun {
	for ; lead <= last; lead++ {
		for a := from; a <= to; {
			b := to
			if a < 0x7f && b >= 0x7f {
				b = 0x7e
			}
			runs = append(runs, privateRun{uint16(lead<<8 | a), first, b + 1 - a})
			first += rune(b + 1 - a)
			a = b + 1
			if a == 0x7f {
				a++
			}
		}
	}
	return runs
}

// private932 returns the user-defined characters of code page 932, U+E000 to U+E757.
func private932() []privateRun { return area(nil, 0xf0, 0xf9, 0x40, 0xfc, 0xe000) }

// private949 returns the user-defined characters of code page 949, U+E000 to U+E0BB.
func private949() []privateRun {
	return area(area(nil, 0xc9, 0xc9, 0xa1, 0xfe, 0xe000), 0xfe, 0xfe, 0xa1, 0xfe, 0xe05e)
}

// privateGB18030 returns the user-defined areas of GB 18030-2005, U+E000 to U+E765, and the unassigned pairs between its characters, up to U+E864.
func privateGB18030() []privateRun {
	runs := []privateRun{
		{0xa2ab, 0xe766, 6}, {0xa2e4, 0xe76d, 1}, {0xa2ef, 0xe76e, 2}, {0xa2fd, 0xe770, 2}, {0xa4f4, 0xe772, 11},
		{0xa5f7, 0xe77d, 8}, {0xa6b9, 0xe785, 8}, {0xa6d9, 0xe78d, 7}, {0xa6ec, 0xe794, 2}, {0xa6f3, 0xe796, 1},
		{0xa6f6, 0xe797, 9}, {0xa7c2, 0xe7a0, 15}, {0xa7f2, 0xe7af, 13}, {0xa896, 0xe7bc, 11}, {0xa8bc, 0xe7c7, 1},
		{0xa8c1, 0xe7c9, 4}, {0xa8ea, 0xe7cd, 21}, {0xa958, 0xe7e2, 1}, {0xa95b, 0xe7e3, 1}, {0xa95d, 0xe7e4, 3},
		{0xa997, 0xe7f4, 13}, {0xa9f0, 0xe801, 15}, {0xd7fa, 0xe810, 5}, {0xfe51, 0xe816, 3}, {0xfe59, 0xe81e, 1},
		{0xfe61, 0xe826, 1}, {0xfe66, 0xe82b, 2}, {0xfe6c, 0xe831, 2}, {0xfe76, 0xe83b, 1}, {0xfe7e, 0xe843, 1},
		{0xfe90, 0xe854, 2}, {0xfea0, 0xe864, 1},
	}
	runs = area(runs, 0xaa, 0xaf, 0xa1, 0xfe, 0xe000)
	runs = area(runs, 0xf8, 0xfe, 0xa1, 0xfe, 0xe234)
	return area(runs, 0xa1, 0xa7, 0x40, 0xa0, 0xe4c6)
}
