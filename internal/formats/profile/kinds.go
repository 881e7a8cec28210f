package profile

// kinds is a set of possible types of values: numbers, and dates of each layout. No value has two of them.
type kinds uint8

// layouts are the known layouts of dates. In each, text sorts like the time.
var layouts = []string{"yyyy-MM-dd", "yyyy/MM/dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ss.SSS"}

const (
	kindNumber kinds = 1
	firstDate  kinds = 2 // the first layout; the others follow
	allKinds         = firstDate<<6 - 1
)

// Kind is the common type of a column's values.
type Kind string

// The kinds.
const (
	Number Kind = "number"
	Date   Kind = "date"
	Text   Kind = "text"
	None   Kind = "none" // there is no value
)

// kind returns the kind of values that have all of the types in k, and the layout of dates.
func (k kinds) kind() (kind Kind, layout string) {
	switch {
	case k == allKinds:
		return None, ""
	case k&kindNumber != 0:
		return Number, ""
	}
	for i, l := range layouts {
		if k&(firstDate<<i) != 0 {
			return Date, l
		}
	}
	return Text, ""
}

// layoutOf returns the index of the layout that matches the form of a text, -1 if none does.
func layoutOf(text []byte) int {
	n := len(text)
	if n != 10 && n != 19 && n != 23 || text[4] != text[7] || text[4] != '-' && text[4] != '/' {
		return -1
	}
	switch {
	case n == 10 && text[4] == '-':
		return 0
	case n == 10:
		return 1
	case text[4] == '/' || text[10] != ' ' && text[10] != 'T':
		return -1
	}
	at := 2
	if n == 23 {
		at = 4
	}
	if text[10] == 'T' {
		at++
	}
	return at
}

// date returns the time of a text in milliseconds since 1970, and its layout; 0 if it is not a date.
func (t *Tally) date(text []byte) (ms float64, fits kinds) {
	i := layoutOf(text)
	if i < 0 {
		return 0, 0
	}
	at, _, err := t.dates[i].Parse(text)
	if err != nil {
		return 0, 0
	}
	return float64(at), firstDate << i
}

func onlyDigits(text []byte) bool {
	for _, b := range text {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}
