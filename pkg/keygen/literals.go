package keygen

import "strconv"

// isNumber reports whether an integer begins here.
func (p *parser) isNumber() bool {
	c := p.peek()
	return isDigit(c) || c == '-' && p.at+1 < len(p.s) && isDigit(p.s[p.at+1])
}

func (p *parser) number() (int, error) {
	from := p.at
	p.at++ // the sign or the first digit
	p.name()
	n, err := strconv.Atoi(p.s[from:p.at])
	if err != nil {
		digits := p.s[from:p.at]
		p.at = from
		return 0, p.fail("%q is not a number that fits", excerpt(digits))
	}
	return n, nil
}

func (p *parser) literal() (Expr, error) {
	quote := p.s[p.at]
	start := p.at
	b := []byte{}
	for p.at++; p.at < len(p.s); p.at++ {
		switch c := p.s[p.at]; c {
		case quote:
			p.at++
			if len(b) == 0 && !p.value {
				p.at = start
				return nil, p.fail("a literal is empty")
			}
			return Literal{Bytes: b}, nil
		case '\\':
			x, n, ok := unescape(p.s[p.at:])
			if !ok {
				return nil, p.fail(`unknown escape (known: \\ \' \" \n \r \t \xNN)`)
			}
			b = append(b, x)
			p.at += n - 1
		default:
			b = append(b, c)
		}
	}
	p.at = start
	return nil, p.fail("a literal is not closed")
}

// unescape reads one escape at the start of s and returns its length.
func unescape(s string) (x byte, n int, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	switch s[1] {
	case '\\', '\'', '"':
		return s[1], 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'x':
		if len(s) >= 4 {
			v, err := strconv.ParseUint(s[2:4], 16, 8)
			return byte(v), 4, err == nil
		}
	}
	return 0, 0, false
}

func (p *parser) decimal() (Expr, error) {
	from := p.at
	p.at++ // the sign or the first digit
	digits := func() (n int) {
		for ; p.at < len(p.s) && isDigit(p.s[p.at]); p.at++ {
			n++
		}
		return n
	}
	digits()
	ok := true
	if p.at < len(p.s) && p.s[p.at] == '.' {
		p.at++
		ok = digits() > 0
	}
	if !ok || p.at < len(p.s) && isLetter(p.s[p.at]) {
		p.at = from
		return nil, p.fail("not a number: it is written as 12 or -12.50")
	}
	if p.at-from > 1000 {
		p.at = from
		return nil, p.fail("a number of more than 1000 digits")
	}
	return Number{Digits: p.s[from:p.at]}, nil
}
