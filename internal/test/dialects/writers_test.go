package dialects

import (
	"bytes"
	"math/rand/v2"
)

// A writer appends a record in an exporter's form.
type writer func(dst []byte, row []value, r *rand.Rand) []byte

// records writes values with a separator between them and an end after them.
func records(sep, end string, put func(dst []byte, v value, r *rand.Rand) []byte) writer {
	return func(dst []byte, row []value, r *rand.Rand) []byte {
		for c, v := range row {
			if c > 0 {
				dst = append(dst, sep...)
			}
			dst = put(dst, v, r)
		}
		return append(dst, end...)
	}
}

// plain writes texts unchanged.
func plain(sep, end, null string) writer { return records(sep, end, bare(null)) }

func bare(null string) func(dst []byte, v value, _ *rand.Rand) []byte {
	return func(dst []byte, v value, _ *rand.Rand) []byte {
		if v.null {
			return append(dst, null...)
		}
		return append(dst, v.text...)
	}
}

// escaped writes some bytes after a backslash, and others as a backslash and a letter: letters has pairs of these.
func escaped(sep, end, null, before, letters string) writer {
	return records(sep, end, func(dst []byte, v value, _ *rand.Rand) []byte {
		if v.null {
			return append(dst, null...)
		}
		return appendEscaped(dst, v.text, before, letters)
	})
}

func appendEscaped(dst, text []byte, before, letters string) []byte {
	for _, b := range text {
		letter := byte(0)
		for i := 0; i < len(letters); i += 2 {
			if letters[i] == b {
				letter = letters[i+1]
			}
		}
		switch {
		case letter != 0:
			dst = append(dst, '\\', letter)
		case bytes.IndexByte([]byte(before), b) >= 0:
			dst = append(dst, '\\', b)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// Letters of escapes: the byte, and its letter.
const (
	lettersMySQL = "\x000"
	lettersBatch = "\x000\nn\tt"
	lettersCopy  = "\bb\ff\nn\rr\tt\vv"
	lettersHive  = "\nn\rr"
	lettersJQ    = "\nn\rr\tt"
)

// quoted writes CSV. need has the bytes that require quotes. Within quotes, the escape precedes the bytes that need it.
// always quotes all values except NULL, which is null.
type quoted struct {
	sep, end, null string
	quote          byte
	need           string
	before         string // "": quotes are doubled
	always         bool
	quoteEmpty     bool   // '' is "", NULL is empty
	bare           string // bytes that the escape also precedes outside of quotes
}

func (q quoted) writer() writer { return records(q.sep, q.end, q.put) }

func (q quoted) put(dst []byte, v value, r *rand.Rand) []byte {
	if v.null {
		return append(dst, q.null...)
	}
	if !q.always && !bytes.ContainsAny(v.text, q.need) && (len(v.text) > 0 || !q.quoteEmpty) && (string(v.text) != q.null || q.null == "") && r.IntN(20) > 0 {
		return appendEscaped(dst, v.text, q.bare, "")
	}
	dst = append(dst, q.quote)
	if q.before == "" {
		dst = append(dst, bytes.ReplaceAll(v.text, []byte{q.quote}, []byte{q.quote, q.quote})...)
	} else {
		dst = appendEscaped(dst, v.text, q.before, "")
	}
	return append(dst, q.quote)
}

// mixed writes some records with one writer and the rest with the other.
func mixed(a, b writer) writer {
	return func(dst []byte, row []value, r *rand.Rand) []byte {
		if r.IntN(2) == 0 {
			return a(dst, row, r)
		}
		return b(dst, row, r)
	}
}

// padded writes blanks and tabs around values.
func padded(sep, end string, put func(dst []byte, v value, r *rand.Rand) []byte) writer {
	edges := [...]string{"", " ", "\t ", "  "}
	return records(sep, end, func(dst []byte, v value, r *rand.Rand) []byte {
		dst = put(append(dst, edges[r.IntN(4)]...), v, r)
		return append(dst, edges[r.IntN(4)]...)
	})
}

// commented writes lines that are not records before some records.
func commented(w writer, lines ...string) writer {
	return func(dst []byte, row []value, r *rand.Rand) []byte {
		if r.IntN(4) == 0 {
			dst = append(dst, lines[r.IntN(len(lines))]...)
		}
		return w(dst, row, r)
	}
}
