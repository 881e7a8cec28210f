package keygen

import (
	"slices"
	"unicode/utf8"
)

// A shape describes the bytes of a part, as far as they are known without a record.
type shape struct {
	min, max int      // bytes; MaxKey means no bound
	set      Alphabet // every byte is one of these
	first    Alphabet // the first byte, if there is one, is one of these
	lead     []symbol // the distribution of the leading bytes, as far as it is known
	whole    bool     // lead describes all bytes
}

// A symbol is a number spread evenly over 0..n−1, written with leading zeros in width symbols. Constant bytes are symbols with one value.
type symbol struct {
	n       int64
	width   int
	symbols string // by value; their number is the base
}

func shapeOf(e Expr, o Options) shape {
	switch e := e.(type) {
	case Column:
		if n := o.widths[e.Name]; n > 0 {
			return shape{min: n, max: n, set: anyByte(), first: anyByte()}
		}
		least := 1
		if o.Value {
			least = 0
		}
		return shape{min: least, max: MaxKey, set: anyByte(), first: anyByte()}
	case Literal:
		s := shape{min: len(e.Bytes), max: len(e.Bytes), set: setOf(string(e.Bytes)), whole: true}
		for _, b := range e.Bytes {
			s.lead = append(s.lead, symbol{n: 1, width: 1, symbols: string([]byte{b})})
		}
		return s.withLead()
	case Concat:
		s := shape{whole: true}
		for _, p := range e.Parts {
			s = s.followedBy(shapeOf(p, o))
		}
		return s
	case Call:
		f, ok := findFunction(e.Func)
		switch {
		case !ok:
		case f.number != nil:
			return f.numbers(e, o).shape()
		default:
			return f.shape(e, o)
		}
	}
	return shape{max: MaxKey, set: anyByte(), first: anyByte()}
}

// followedBy returns the shape of s followed by t.
func (s shape) followedBy(t shape) shape {
	out := shape{min: min(s.min+t.min, MaxKey), max: min(s.max+t.max, MaxKey), set: s.set.union(t.set), first: s.first, lead: s.lead}
	if s.min == 0 {
		out.first = s.first.union(t.first)
	}
	if s.whole {
		out.lead = append(out.lead[:len(out.lead):len(out.lead)], t.lead...)
		out.whole = t.whole
	}
	return out
}

// withLead sets the first byte's set from the leading symbol.
func (s shape) withLead() shape {
	s.first = s.set
	if len(s.lead) > 0 {
		s.first = s.lead[0].leadingSymbols()
	}
	return s
}

// leadingSymbols returns the symbols that a number may begin with.
func (s symbol) leadingSymbols() Alphabet {
	unit := int64(1)
	for range s.width - 1 {
		unit *= int64(len(s.symbols))
	}
	return setOf(s.symbols[:min((s.n-1)/unit+1, int64(len(s.symbols)))])
}

// spreadOver returns the shape of a number spread evenly over 0..n−1 in decimal. Zeros beyond the digits of n−1 are constant bytes, so that
// powers of the base stay within 64 bits whatever the width.
func spreadOver(n int64, width int) shape {
	s := shape{min: width, max: width, set: decimalDigits(), whole: true}
	digits := decimals(n - 1)
	for range width - digits {
		s.lead = append(s.lead, symbol{1, 1, decimalSymbols[:1]})
	}
	s.lead = append(s.lead, symbol{n, digits, decimalSymbols})
	if width == 1 {
		s.set = setOf(decimalSymbols[:n])
	}
	return s.withLead()
}

func saltShape(c Call, o Options) shape {
	n := modulusOf(c, o.Regions)
	if n < 1 {
		// not known before the job is planned
		return shape{min: 1, max: 10, set: decimalDigits(), first: decimalDigits()}
	}
	return spreadOver(int64(n), decimals(int64(n)-1))
}

// byteSaltShape returns the shape of a salt of one byte. A signed salt has each remainder from 1−n to n−1 equally often, except that 0 is
// twice as frequent, because it is the remainder of hashes of both signs.
func byteSaltShape(signed bool) func(Call, Options) shape {
	return func(c Call, o Options) shape {
		n := modulusOf(c, o.Regions)
		if n < 1 || n > 256 {
			return fixedShape(1, anyByte)(c, o)
		}
		salt := symbol{int64(n), 1, everyByte()}
		if signed {
			var remainders []byte
			for r := range n {
				remainders = append(remainders, byte(r), byte(-r))
			}
			slices.Sort(remainders)
			salt = symbol{int64(2 * n), 1, string(remainders)}
		}
		return shape{min: 1, max: 1, set: salt.leadingSymbols(), lead: []symbol{salt}, whole: true}.withLead()
	}
}

// modulusOf returns the modulus of a call, or usual if it has none.
func modulusOf(c Call, usual int) int {
	if len(c.Ints) > 0 {
		return c.Ints[0]
	}
	return usual
}

func everyByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

func spreadShape(c Call, _ Options) shape {
	n := int64(modulusOf(c, spreadDefault))
	return spreadOver(n, decimals(n-1))
}

func uniform(n int, symbols string) shape {
	s := shape{min: n, max: n, set: setOf(symbols), whole: true}
	for range n {
		s.lead = append(s.lead, symbol{int64(len(symbols)), 1, symbols})
	}
	return s.withLead()
}

func hexDigest(bytes int) func(Call, Options) shape {
	return func(Call, Options) shape { return uniform(2*bytes, hexSymbols) }
}

func rawDigest(bytes int) func(Call, Options) shape {
	return func(Call, Options) shape { return uniform(bytes, everyByte()) }
}

func shiftShape(Call, Options) shape {
	s := uniform(7, hexSymbols)
	s.lead[0].n = 8
	return s.withLead()
}

func fixedShape(n int, set func() Alphabet) func(Call, Options) shape {
	return func(Call, Options) shape { return shape{min: n, max: n, set: set(), first: set()} }
}

func dateShape(c Call, _ Options) shape {
	s := shape{max: MaxKey, set: asciiBytes()}
	if l, err := parseLayout(constant(c.Args[2])); err == nil {
		s.min, s.max = l.width()
		s.set = l.symbols()
	}
	return s.withLead()
}

func padShape(c Call, o Options) shape {
	width := c.Ints[0]
	if n, ok := numbersOf(c.Args[0], o); ok && n.even && n.min == 0 && decimals(n.max) <= width {
		return spreadOver(n.max+1, width)
	}
	s := shapeOf(c.Args[0], o)
	if s.min == width && s.max == width {
		return s
	}
	return shape{min: width, max: width, set: s.set.union(setOf("0"))}.withLead()
}

func reverseShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	return shape{min: s.min, max: s.max, set: s.set}.withLead()
}

// substrShape keeps the facts about the leading bytes if the result begins with them, because the start of a digest is a common prefix.
func substrShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	out := shape{min: 1, max: s.max, set: s.set}
	from, count := c.Ints[0], 0
	if len(c.Ints) > 1 {
		count = c.Ints[1]
	}
	ascii := s.set.Within(asciiBytes())
	switch {
	case count > 0 && ascii:
		out.min, out.max = count, count
	case count > 0:
		out.min, out.max = count, min(s.max, utf8.UTFMax*count)
	case ascii && from < 0 && s.min == s.max:
		out.min, out.max = min(-from, s.max), min(-from, s.max)
	case ascii && from >= 0:
		out.min, out.max = max(1, s.min-from), max(1, s.max-from)
		if s.max == MaxKey {
			out.max = MaxKey
		}
	case from < 0:
		out.max = min(s.max, utf8.UTFMax*-from)
	}
	if ascii && from >= 0 && len(s.lead) >= from {
		lead := s.lead[from:]
		for i, l := range s.lead {
			if l.width != 1 && (i < from || i < from+count || count == 0) {
				return out.withLead()
			}
		}
		if count > 0 && len(lead) >= count {
			lead = lead[:count]
		}
		out.lead, out.whole = lead, count > 0 && len(lead) == count || s.whole && count == 0
	}
	return out.withLead()
}

func upperByte(b byte) byte {
	if b >= 'a' && b <= 'z' {
		b -= 'a' - 'A'
	}
	return b
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

func caseShape(fn func(byte) byte) func(Call, Options) shape {
	return func(c Call, o Options) shape {
		s := shapeOf(c.Args[0], o)
		if !s.set.Within(asciiBytes()) {
			// a character's other case may have more bytes or fewer
			return shape{min: min(s.min, 1), max: MaxKey, set: anyByte(), first: anyByte()}
		}
		s.set = s.set.each(fn)
		var lead []symbol
		for _, l := range s.lead {
			symbols := []byte(l.symbols)
			for i := range symbols {
				symbols[i] = fn(symbols[i])
			}
			l.symbols = string(symbols)
			lead = append(lead, l)
		}
		s.lead = lead
		return s.withLead()
	}
}

func trimShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	return shape{min: min(s.min, 1), max: s.max, set: s.set}.withLead()
}

func hexShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	return shape{min: min(2*s.min, MaxKey), max: min(2*s.max, MaxKey), set: setOf(hexSymbols)}.withLead()
}

func unhexShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	half := max(1, s.max/2)
	if s.max == MaxKey {
		half = MaxKey
	}
	return shape{min: (s.min + 1) / 2, max: half, set: anyByte()}.withLead()
}

func orEmptyShape(c Call, o Options) shape {
	s := shapeOf(c.Args[0], o)
	s.min = 0
	return s
}
