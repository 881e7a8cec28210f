package charset

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// eucThree is the byte before the two bytes of JIS X 0212 in EUC-JP.
const eucThree = 0x8f

// An entry describes the decoding of a byte or a pair of bytes: up to three bytes of UTF-8, the first in the lowest byte; their number in bits 24 and
// 25; the number of source bytes in bits 28 and 29; and the flags long and rare.
type entry uint32

const (
	// rare marks an entry that needs decodeRare: it is not a character, or its text is stored elsewhere.
	rare = 1 << 31
	// long marks a pair whose text has four bytes; the low 16 bits are its index in tables.longs.
	long = 1 << 30
	// ideograph is the upper byte of the most common entries: pairs with three bytes of UTF-8.
	ideograph = 2<<4 | 3
)

func (e entry) text() int { return int((e >> 24) & 3) }
func (e entry) size() int { return int((e >> 28) & 3) }

// short returns the text that is stored in an entry.
func (e entry) short() text {
	return text{[4]byte{byte(e), byte(e >> 8), byte(e >> 16)}, uint8(e.text())}
}

// A text is the UTF-8 of one character, or of two: some pairs of Big5 stand for two characters.
type text struct {
	b [4]byte
	n uint8
}

func (t *text) bytes() []byte { return t.b[:t.n] }

func textOf(r rune) (t text) {
	t.n = uint8(utf8.EncodeRune(t.b[:], r))
	return t
}

// entryOf returns the entry for size source bytes that decode to s, which has at most three bytes.
func entryOf(s string, size int) entry {
	e := entry(size)<<28 | entry(len(s))<<24
	for i := range len(s) {
		e |= entry(s[i]) << (8 * i)
	}
	return e
}

// tables are the decoding tables of a set. They hold the results of x/text for each byte, each pair of bytes and each longer sequence.
type tables struct {
	// one is the entry for a byte at the end of the text; in a single-byte set, for any byte.
	one [256]entry
	// two is the entry for a byte and the following one: a lead byte and its trail byte, or a byte that is a character by itself. nil for single-byte sets.
	two *[1 << 16]entry
	// pairs has a bit for each entry of two that consumes two bytes: 8 KiB, which fit the L1 cache.
	pairs [256][4]uint64
	longs []text
	// more has further characters: for GB18030, the four-byte ones below U+10000 in their order; for EUC-JP, those after 8F, 94 for each second byte,
	// 0 where there is none.
	more []uint16
}

func (t *tables) paired(lead, trail byte) bool {
	return (t.pairs[lead][trail>>6]>>(trail&63))&1 != 0
}

// A speller decodes short sequences with x/text.
type speller struct {
	decoder *encoding.Decoder
	buf     [16]byte
}

// spell returns the text that x/text decodes src to. It returns no errors: bytes that are not a character become U+FFFD.
func (s *speller) spell(src ...byte) string {
	n, _, _ := s.decoder.Transform(s.buf[:], src, true)
	return string(s.buf[:n])
}

const replacement = string(utf8.RuneError)

func makeTables(f form, from encoding.Encoding) *tables {
	s := speller{decoder: from.NewDecoder()}
	t := &tables{}
	for i := range t.one {
		decoded := s.spell(byte(i))
		t.one[i] = entryOf(decoded, 1)
		if decoded == replacement {
			t.one[i] |= rare
		}
	}
	if f == single {
		return t
	}
	t.two = new([1 << 16]entry)
	for i := range t.two {
		lead, trail := byte(i>>8), byte(i)
		e := t.one[lead]
		if e&rare != 0 {
			e = t.pair(s.spell(lead, trail))
		}
		if f == eucJP && lead == eucThree {
			e = entryOf(replacement, 1) | rare
		}
		if e.size() == 2 {
			t.pairs[lead][trail>>6] |= 1 << (trail & 63)
		}
		t.two[i] = e
	}
	switch f {
	case gb18030:
		t.more = fours(&s)
	case eucJP:
		t.more = threes(&s)
	}
	return t
}

// pair returns the entry of a lead byte and the byte after it, which decode to s. For an invalid pair s is U+FFFD alone, or U+FFFD for the first byte
// and then the text of the second.
func (t *tables) pair(s string) entry {
	switch {
	case s == replacement:
		return entryOf(s, 2) | rare
	case len(s) > len(replacement) && s[:len(replacement)] == replacement:
		return entryOf(replacement, 1) | rare
	case len(s) == 4:
		var l text
		l.n = uint8(copy(l.b[:], s))
		t.longs = append(t.longs, l)
		return entryOf("", 2) | rare | long | entry(len(t.longs)-1)
	}
	return entryOf(s, 2)
}
