package charset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Guess is a possible character set of a text.
type Guess struct {
	// Charset is the set's canonical name.
	Charset string
	// Certain means that no other set that was tried fits.
	Certain bool
	// Reason is the evidence for or against the set.
	Reason string
}

const (
	// latin is the fallback, which fits every text.
	latin = "cp1252"
	// commonShare is the least percentage of common pairs in text that counts as Chinese. TestDetectShares shows the range around it.
	commonShare = 60
	// enoughUTF8 is the number of bytes from 80 on that prove UTF-8: one pair of GB18030 in ten is valid UTF-8 by chance, sixteen in a row never are.
	enoughUTF8 = 32
)

// Detect returns the possible sets of a text that begins with head, the likeliest set first. last means that head is all of the text; otherwise a
// character may be cut off at its end. Detect looks for byte order marks and for UTF-8. It also looks for UTF-16 without a mark, which is never
// certain, and distinguishes GB18030 from Latin-1, which is never certain either, because Korean and Japanese text may look like Chinese. For an
// empty head it returns nil.
func Detect(head []byte, last bool) []Guess {
	if len(head) == 0 {
		return nil
	}
	if order := markOf(head); order != nil {
		return []Guess{guessByMark(head, order, last)}
	}
	high, zeros := 0, 0
	for _, b := range head {
		if b >= utf8.RuneSelf {
			high++
		} else if b == 0 {
			zeros++
		}
	}
	inUTF8 := firstBad("utf-8", head, last)
	marked := len(head) >= 3 && string(head[:3]) == mark
	var guesses []Guess
	// Tables in UTF-16 are seldom valid UTF-8, unless they are all ASCII: then half of their bytes are zero. If fewer bytes are zero, the text is not
	// UTF-16 but contains zeros.
	if zeros > 0 && (inUTF8 >= 0 || 3*zeros > len(head)) {
		guesses = guessByZeros(head, zeros, last)
	}
	switch {
	case marked && inUTF8 < 0:
		return []Guess{{"utf-8", true, "a byte order mark"}}
	case high == 0:
		reason := fmt.Sprintf("only ASCII in the first %d bytes, which all sets but UTF-16 read alike", len(head))
		if last {
			reason = "only ASCII, which all sets but UTF-16 and EBCDIC read alike"
		}
		return append(guesses, Guess{"utf-8", last && zeros == 0, reason})
	case inUTF8 < 0:
		g := Guess{"utf-8", len(guesses) == 0, fmt.Sprintf("valid UTF-8 with %d bytes that are not ASCII", high)}
		chinese, fits := guessChinese(head, last)
		if fits && high < enoughUTF8 {
			g.Certain = false
			return append(guesses, g, chinese)
		}
		return append(guesses, g)
	}
	notUTF8 := fmt.Sprintf("not UTF-8 (byte %d)", inUTF8)
	if marked {
		guesses = append(guesses, Guess{"utf-8", false, "a byte order mark, but " + notUTF8})
	}
	chinese, fits := guessChinese(head, last)
	always := Guess{latin, false, notUTF8 + "; every byte is a character of it, so nothing speaks against it"}
	switch {
	case fits:
		chinese.Reason = notUTF8 + "; " + chinese.Reason
		return append(guesses, chinese, always)
	case chinese.Charset != "":
		return append(guesses, always, chinese)
	}
	always.Reason = notUTF8 + ", and not GB18030 (" + chinese.Reason + "); every byte is a character of it"
	return append(guesses, always)
}

// firstBad returns the offset of the first bytes of head that are not a character of a set, -1 if there are none. Unless last is set, a character may be
// cut off at the end.
func firstBad(name string, head []byte, last bool) int {
	c, err := Lookup(name)
	if err != nil {
		return 0
	}
	end := len(head)
	if !last {
		end = max(0, end-Ahead)
	}
	_, _, bad := c.decode(nil, head, end)
	return bad
}

func guessByMark(head []byte, order binary.ByteOrder, last bool) Guess {
	g := Guess{"utf-16", true, "a byte order mark: " + ordered(order).name}
	if order == binary.LittleEndian && len(head) >= 4 && head[2] == 0 && head[3] == 0 {
		return Guess{"utf-16", false, "the byte order mark may be that of UTF-32, which is not read"}
	}
	if bad := firstBad("utf-16", head, last); bad >= 0 {
		g.Certain = false
		g.Reason += fmt.Sprintf(", but the bytes at %d are not a character", bad)
	}
	return g
}

// guessByZeros returns guesses for a text with zero bytes.
func guessByZeros(head []byte, zeros int, last bool) []Guess {
	little, big := orders(head)
	order, units := binary.ByteOrder(binary.LittleEndian), little
	if big > little {
		order, units = binary.BigEndian, big
	}
	c := ordered(order)
	if units <= evident*min(little, big) || 2*units < zeros || firstBad(c.name, head, last) >= 0 {
		return nil
	}
	return []Guess{{c.name, false, fmt.Sprintf("no byte order mark, but %d ASCII characters with a zero byte are this way around, %d the other", units, min(little, big))}}
}

// guessChinese reports whether head is likely to be in GB18030. A guess without a name means that head is not valid GB18030, and gives the reason.
func guessChinese(head []byte, last bool) (g Guess, fits bool) {
	if bad := firstBad("gb18030", head, last); bad >= 0 {
		return Guess{Reason: fmt.Sprintf("byte %d", bad)}, false
	}
	c, err := Lookup("gb18030")
	if err != nil {
		return Guess{}, false
	}
	wide, common := 0, 0
	for i := 0; i < len(head); {
		n := c.size(head[i:])
		if n == 2 {
			wide++
			// Punctuation, full-width letters, and the 3,755 characters of level 1.
			lead, trail := head[i], head[i+1]
			if trail >= 0xa1 && (lead == 0xa1 || lead == 0xa3 || 0xb0 <= lead && lead <= 0xd7) {
				common++
			}
		}
		i += n
	}
	share := 0
	if wide > 0 {
		share = 100 * common / wide
	}
	return Guess{"gb18030", false, fmt.Sprintf("%d %% of its %d two-byte characters are common Chinese ones (GB2312, level 1)", share, wide)}, share >= commonShare
}

// mark is the byte order mark, decoded.
const mark = "\ufeff"

// evident is the factor by which one byte order must give more ASCII characters than the other. With swapped bytes, some common characters become ASCII:
// U+3000 and U+4E00 become 0 and N.
const evident = 2

// markOf returns the byte order of a mark at the start of p, or nil.
func markOf(p []byte) binary.ByteOrder {
	if len(p) >= 2 {
		switch {
		case p[0] == 0xff && p[1] == 0xfe:
			return binary.LittleEndian
		case p[0] == 0xfe && p[1] == 0xff:
			return binary.BigEndian
		}
	}
	return nil
}

// orders counts the code units of p that are ASCII characters common in tables, once read with the low byte first (little) and once with it last (big).
func orders(p []byte) (little, big int) {
	common := func(b byte) bool { return b == '\t' || b == '\n' || b == '\r' || 0x20 <= b && b < 0x7f }
	for ; len(p) >= 2; p = p[2:] {
		switch {
		case p[1] == 0 && common(p[0]):
			little++
		case p[0] == 0 && common(p[1]):
			big++
		}
	}
	return little, big
}

// ordered returns the UTF-16 set with a byte order.
func ordered(order binary.ByteOrder) *Charset {
	name := "utf-16le"
	if order == binary.BigEndian {
		name = "utf-16be"
	}
	c, _ := Lookup(name)
	return c
}

// guessOrder returns the set of a UTF-16 text without a mark, nil for an empty text. Text is an error unless it is evidently little endian.
func guessOrder(p []byte) (*Charset, error) {
	little, big := orders(p)
	switch {
	case len(p) == 0:
		return nil, nil
	case little > evident*big:
		return ordered(binary.LittleEndian), nil
	case big > evident*little:
		return nil, fmt.Errorf("no byte order mark, and %d ASCII characters in the first %d bytes are big endian, %d little endian; declare utf-16be", big, len(p), little)
	}
	return nil, errors.New("no byte order mark, and neither order of bytes is evident from the first bytes; declare utf-16le or utf-16be")
}
