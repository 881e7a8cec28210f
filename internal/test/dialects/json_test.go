package dialects

import (
	"fmt"
	"math/rand/v2"
	"unicode/utf16"
	"unicode/utf8"

	"bulkload/pkg/source"
)

// lines writes JSON lines in every valid form: escapes for any character, members in any order with others between
// them, NULL as null or omitted, blanks and blank lines.
func lines() kind {
	return kind{name: "json-lines", format: source.FormatJSON, cols: 5, nulls: true, write: appendLine,
		tokens: join(marks, blanks, unicode, []string{"\x00", "\u0080", "\ufeff", "\ufffd", "12.50", "-0", "1e400", "123456789012345678901234567890", "true"}),
		judges: []judge{{How: "json", Cols: 5}}}
}

func appendLine(dst []byte, row []value, r *rand.Rand) []byte {
	blank := func() {
		if r.IntN(8) == 0 {
			dst = append(dst, " \t"[:1+r.IntN(2)]...)
		}
	}
	blank()
	dst = append(dst, '{')
	first := true
	name := func(n string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		blank()
		dst = appendText(dst, n, r)
		blank()
		dst = append(dst, ':')
		blank()
	}
	for _, c := range r.Perm(len(row)) {
		v := row[c]
		if r.IntN(10) == 0 {
			name(fmt.Sprintf("other%d", c))
			dst = append(dst, `{"c1": ["\"}\n", {"c2": "\\"}]}`...)
		}
		if v.null && r.IntN(2) == 0 {
			continue
		}
		name(fmt.Sprintf("c%d", c+1))
		switch text := string(v.text); {
		case v.null:
			dst = append(dst, "null"...)
		case text == "12.50" || text == "-0" || text == "1e400" || text == "true" || text == "123456789012345678901234567890":
			dst = append(dst, text...)
		default:
			dst = appendText(dst, text, r)
		}
		blank()
	}
	dst = append(dst, '}')
	blank()
	return append(dst, [...]string{"\n", "\n", "\r\n", "\n \t\n", "\n\r\n"}[r.IntN(5)]...)
}

// appendText appends a string of JSON.
func appendText(dst []byte, text string, r *rand.Rand) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		switch short := [...]rune{'"', '\\', '\n', '\r', '\t', '\b', '\f', '/'}; {
		case r.IntN(30) == 0 && c >= 0x10000:
			a, b := utf16.EncodeRune(c)
			dst = fmt.Appendf(dst, `\u%04x\u%04X`, a, b)
		case r.IntN(30) == 0 && c < 0x10000:
			dst = fmt.Appendf(dst, `\u%04X`, c)
		case c == '/' && r.IntN(2) == 0:
			dst = append(dst, '/')
		default:
			at := -1
			for i, s := range short {
				if c == s {
					at = i
				}
			}
			switch {
			case at >= 0:
				dst = append(dst, '\\', `"\nrtbf/`[at])
			case c < 0x20:
				dst = fmt.Appendf(dst, `\u%04x`, c)
			default:
				dst = utf8.AppendRune(dst, c)
			}
		}
	}
	return append(dst, '"')
}
