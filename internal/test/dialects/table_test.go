package dialects

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// A value is the value of a column in a row.
type value struct {
	text []byte
	null bool
}

// A table generates the rows of a kind of file, the same ones each time.
type table struct {
	k    *kind
	r    *rand.Rand
	all  [][]value // awkward values
	next int
}

func newTable(k *kind, seed uint64) *table {
	t := &table{k: k, r: rand.New(rand.NewPCG(seed, uint64(len(k.name))))}
	for _, token := range k.tokens {
		row := make([]value, k.cols)
		for c := range row {
			row[c] = t.fit(c, [...]string{token, "a" + token, token + "b", token + token, ""}[c%5])
			if k.nulls && c == k.cols-1 && len(t.all)%3 == 0 {
				row[c] = value{null: true}
			}
		}
		t.all = append(t.all, row)
	}
	return t
}

// fit returns a value that the kind of file can have, the text if it is one.
func (t *table) fit(col int, text string) value {
	v := value{text: []byte(text)}
	if t.k.lost != nil && t.k.lost(text) || col == 0 && t.k.firstLost != nil && t.k.firstLost(text) {
		v.text = []byte("plain")
	}
	if t.k.emptyNull && len(v.text) == 0 {
		return value{null: true}
	}
	return v
}

// row returns a random row; for awkward rows the next one in turn.
func (t *table) row(awkward bool) []value {
	if awkward {
		t.next++
		return t.all[t.next%len(t.all)]
	}
	row := make([]value, t.k.cols)
	for c := range row {
		row[c] = t.value(c)
	}
	return row
}

const letters = "abcdefghijklmnopqrstuvwxyz-ABCDEFG 0123456789"

func (t *table) value(col int) value {
	r := t.r
	switch n := r.IntN(100); {
	case n < 5 && t.k.nulls:
		return value{null: true}
	case n < 10:
		return t.fit(col, "")
	case n < 75:
		text := make([]byte, 2+r.IntN(18))
		for i := range text {
			text[i] = letters[r.IntN(len(letters))]
		}
		text[0], text[len(text)-1] = 'p', 'q'
		return value{text: text}
	}
	var text bytes.Buffer
	for range 1 + r.IntN(6) {
		text.WriteString(t.k.tokens[r.IntN(len(t.k.tokens))])
		if r.IntN(3) == 0 {
			text.WriteByte(letters[r.IntN(len(letters))])
		}
	}
	return t.fit(col, text.String())
}

// Texts that are awkward in some dialect.
var (
	marks = []string{`"`, `\`, "'", ",", "\t", "|", "\n", "\r", "\r\n", "\x01", "\x10", `\N`, `\n`, "NULL", "#", "@|@", "@|", "#@#\n", "#@", ";", `\.`,
		`\\`, `""`, `","`, "\"\n", "\"\r\n", `\"`, "\\\n", "\\\t", "%", "-", "\x7f", "\x02", "\x03", "\\x41", "\\101", "\b\f\v", "\x1a", "\x1f\x1e", "''", "{", "}", "[", "\\u0041"}
	blanks  = []string{" ", "  x ", "\tx\t"}
	unicode = []string{"é", "\u534e", "\U00020bb7", "\u2028"}
	bytesIn = []string{"\xff", "\xd5\x5c", "\x00", "\x81", "\xef\xbb"}
)

func join(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// has reports whether a text contains one of others.
func has(others ...string) func(string) bool {
	return func(text string) bool {
		for _, o := range others {
			if strings.Contains(text, o) {
				return true
			}
		}
		return false
	}
}

func either(a, b func(string) bool) func(string) bool {
	return func(text string) bool { return a(text) || b(text) }
}
