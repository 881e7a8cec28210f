package charset

import "unicode/utf8"

// The four bytes of a character in GB18030 are the digits of a number: one of 126 lead bytes, one of 10, and both again.
const (
	// fourBMP is the number of four-byte characters below U+10000; they are numbered from 0.
	fourBMP = 39420
	// fourAstral is the number of U+10000, 90 30 81 30.
	fourAstral = 189000
)

// four returns the four-byte character at the start of p, and 4; or U+FFFD and 1. x/text accepts 3A to 3F as digits in the second byte; the standard
// does not.
func (t *tables) four(p []byte) (rune, int) {
	if len(p) < 4 || p[0]-0x81 > 0x7d || p[1]-'0' > 9 || p[2]-0x81 > 0x7d || p[3]-'0' > 9 {
		return utf8.RuneError, 1
	}
	n := ((rune(p[0]-0x81)*10+rune(p[1]-'0'))*126+rune(p[2]-0x81))*10 + rune(p[3]-'0')
	switch {
	case n < fourBMP:
		return rune(t.more[n]), 4
	case fourAstral <= n && n < fourAstral+0x100000:
		return 0x10000 + n - fourAstral, 4
	}
	return utf8.RuneError, 1
}

// fours returns the four-byte characters below U+10000, by number.
func fours(s *speller) []uint16 {
	all := make([]uint16, fourBMP)
	for n := range all {
		r, _ := utf8.DecodeRuneInString(s.spell(0x81+byte(n/12600), '0'+byte(n/1260%10), 0x81+byte(n/10%126), '0'+byte(n%10)))
		all[n] = uint16(r)
	}
	return all
}

// three decodes the start of p, which begins with 8F: a three-byte character, or U+FFFD and the number of bytes that x/text skips.
func (t *tables) three(p []byte) (rune, int) {
	switch {
	case len(p) < 2 || p[1]-0xa1 >= 94:
		return utf8.RuneError, 1
	case len(p) == 2:
		if p[1] == 0xfe {
			return utf8.RuneError, 1
		}
		return utf8.RuneError, 2
	case p[2]-0xa1 >= 94:
		return utf8.RuneError, 2
	}
	r := rune(t.more[int(p[1]-0xa1)*94+int(p[2]-0xa1)])
	if r == 0 {
		r = utf8.RuneError
	}
	return r, 3
}

// threes returns the characters after 8F.
func threes(s *speller) []uint16 {
	all := make([]uint16, 94*94)
	for i := range all {
		if r, _ := utf8.DecodeRuneInString(s.spell(eucThree, 0xa1+byte(i/94), 0xa1+byte(i%94))); r != utf8.RuneError {
			all[i] = uint16(r)
		}
	}
	return all
}
