package source

import (
	"fmt"
	"strconv"
	"strings"
)

// Sep is a one-byte separator. Its zero value means the default of its setting; the byte 0x00 is SepOf(0).
type Sep struct {
	value byte
	set   bool
}

// SepOf returns the separator b.
func SepOf(b byte) Sep { return Sep{value: b, set: true} }

// or returns the byte, or def if none was set.
func (s Sep) or(def byte) byte {
	if s.set {
		return s.value
	}
	return def
}

// ParseSep parses a separator in the form that users write: one ASCII character (","), an escape ("\t", "\x01"), a number ("0x01"), or ""
// for the default.
func ParseSep(text string) (Sep, error) {
	if text == "" {
		return Sep{}, nil
	}
	if len(text) == 1 {
		return SepOf(text[0]), nil
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		if n, err := strconv.ParseUint(rest, 16, 8); err == nil {
			return SepOf(byte(n)), nil
		}
	} else if text[0] == '\\' {
		if c, _, tail, err := strconv.UnquoteChar(text, 0); err == nil && tail == "" && c < 0x100 {
			return SepOf(byte(c)), nil
		}
	}
	return Sep{}, fmt.Errorf("separator %q is not one byte: write it as , or \\t or \\x01 or 0x01", text)
}

// String returns the form that [ParseSep] reads.
func (s Sep) String() string {
	switch {
	case !s.set:
		return ""
	case s.value > ' ' && s.value < 0x7f && s.value != '\\':
		return string(rune(s.value))
	default:
		return fmt.Sprintf("0x%02x", s.value)
	}
}

// MarshalText implements [encoding.TextMarshaler].
func (s Sep) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Sep) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSep(string(text))
	return err
}
