package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"bulkload/internal/formats/charset"
)

// charsets is the character set of all texts, as far as it could be detected.
type charsets struct {
	name   string   // "" for UTF-8 and ASCII
	reason string   // evidence for it
	others []string // other possible sets that nothing rules out
}

// Thresholds for detecting Chinese: a minimum number of pairs, a percentage of lead bytes that Korean does not have, and a percentage of kana, which are
// frequent in Japanese.
const (
	enoughWide   = 32
	chineseShare = 10
	kanaShare    = 5
)

// detect determines the character set from the beginnings of files. given is a configured character set.
func detect(texts []text, given string) (charsets, error) {
	if given != "" {
		_, err := charset.Lookup(given)
		return charsets{name: given, reason: "as given"}, err
	}
	var found charsets
	open := true // all texts so far are ASCII
	for i := range texts {
		t := &texts[i]
		own := textCharsets(t.data, t.whole)
		plain := own.name == "" && len(own.others) == 0 && ascii(t.data)
		switch {
		case open:
			found, open = own, plain
		case plain:
		case own.name != found.name:
			found.others = append(found.others, cmp.Or(own.name, "utf-8"))
			found.reason += "; " + t.path + ": " + own.reason
		}
	}
	slices.Sort(found.others)
	found.others = slices.Compact(found.others)
	return found, nil
}

func textCharsets(data []byte, whole bool) charsets {
	guesses := charset.Detect(data[:min(len(data), 1<<20)], whole && len(data) <= 1<<20)
	if len(guesses) == 0 {
		return charsets{reason: "empty"}
	}
	g := guesses[0]
	c := charsets{name: g.Charset, reason: g.Reason}
	switch {
	case g.Certain:
	case g.Charset == "utf-16" || g.Charset == "utf-16le" || g.Charset == "utf-16be":
		if !evenZeros(data) {
			c.others = []string{"utf-8"}
		}
	case ascii(data):
	case g.Charset == "utf-8" && len(guesses) > 1 && !varied(data):
		c.others = []string{guesses[1].Charset}
	case g.Charset == "gb18030" && chinese(data):
		c.reason += "; no other set has such characters"
	case g.Charset == "utf-8":
	default:
		for _, o := range guesses[1:] {
			c.others = append(c.others, o.Charset)
		}
		if g.Charset == "cp1252" || slices.Contains(c.others, "cp1252") {
			c.others = append(c.others, "iso-8859-1", "cp1251")
		}
	}
	if c.name == "utf-8" {
		c.name = ""
	}
	return c
}

// varied reports whether a text that is valid UTF-8 has so many different characters that it cannot be text of another set that is valid UTF-8 by chance.
// One pair of GB18030 in five is.
func varied(data []byte) bool {
	const enough = 16 // bytes
	seen, n := map[rune]bool{}, 0
	for len(data) > 0 && n < enough {
		c, size := utf8.DecodeRune(data)
		if data = data[size:]; size > 1 && !seen[c] {
			seen[c] = true
			n += size
		}
	}
	return n >= enough
}

func ascii(data []byte) bool {
	return !slices.ContainsFunc(data, func(b byte) bool { return b >= utf8.RuneSelf })
}

// evenZeros reports whether the zero bytes are almost all at even offsets or almost all at odd ones, and are more than a third of all bytes.
func evenZeros(data []byte) bool {
	var n [2]int
	for i, b := range data {
		if b == 0 {
			n[i&1]++
		}
	}
	return 100*min(n[0], n[1]) <= max(n[0], n[1]) && 3*max(n[0], n[1]) > len(data)
}

// chinese reports whether pairs of bytes are Chinese characters rather than Korean or Japanese ones, which have the same form. It uses that lead bytes of
// Korean syllables are at most C8, and that those of kana are A4 and A5.
func chinese(data []byte) bool {
	pairs, high, kana := 0, 0, 0
	for i := 0; i+1 < len(data); i++ {
		lead, trail := data[i], data[i+1]
		if lead < 0x81 {
			continue
		}
		i++
		if trail < 0xa1 {
			continue
		}
		switch pairs++; {
		case lead > 0xc8:
			high++
		case lead == 0xa4 || lead == 0xa5:
			kana++
		}
	}
	return pairs >= enoughWide && 100*high >= chineseShare*pairs && 100*kana <= kanaShare*pairs
}

// decode converts a text to UTF-8. A sample that is not the whole file may end within a character.
func decode(t *text, name string) error {
	if name == "" {
		return nil
	}
	c, err := charset.Lookup(name)
	if err != nil {
		return err
	}
	n := len(t.data)
	for cut := 0; ; cut++ {
		out, bad := c.Append(nil, t.data[:n-cut])
		if bad < 0 {
			t.data = out
			return nil
		}
		if t.whole || cut == charset.Ahead || cut == n {
			return fmt.Errorf("%s: byte %d is not a character of %s", t.path, bad, name)
		}
	}
}
