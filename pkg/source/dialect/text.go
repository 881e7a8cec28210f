package dialect

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads bytes in the form that users write in a flag or a job file: characters themselves, \t \n \r \0 \\ \xNN \uNNNN as in C and Go,
// or one number such as 0x01.
func Parse(text string) (string, error) {
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok && hex != "" {
		n, err := strconv.ParseUint(hex, 16, 8)
		if err != nil {
			return "", fmt.Errorf("%q is not a byte: write it as 0x01, \\x01 or a character", text)
		}
		return string([]byte{byte(n)}), nil
	}
	if text == `\` {
		return text, nil
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		if rest[0] != '\\' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		if strings.HasPrefix(rest, `\0`) && !(len(rest) > 2 && rest[2] >= '0' && rest[2] <= '7') {
			b.WriteByte(0)
			rest = rest[2:]
			continue
		}
		c, wide, tail, err := strconv.UnquoteChar(rest, 0)
		if err != nil {
			return "", fmt.Errorf("%q has an unknown escape: there are \\t \\n \\r \\0 \\\\ \\xNN \\uNNNN", text)
		}
		if wide {
			b.WriteRune(c)
		} else {
			b.WriteByte(byte(c))
		}
		rest = tail
	}
	return b.String(), nil
}

// Text returns the form that [Parse] reads, in printable ASCII.
func Text(s string) string {
	if s == `\` {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\\':
			b.WriteString(`\\`)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c == '0' && i+1 < len(s) && i == 0 && (s[1] == 'x' || s[1] == 'X'):
			b.WriteString(`\x30`) // otherwise it would be read as a number
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
