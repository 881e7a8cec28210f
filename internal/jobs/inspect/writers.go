package inspect

import (
	"bytes"
	"cmp"

	"bulkload/pkg/source/dialect"
)

// A writer describes how a program writes text, as far as it affects the meaning of the bytes: which values it quotes, and what it escapes and how.
// The facts are those of package dialect, observed in files of these programs.
type writer struct {
	what   string // name in messages
	preset string // dialect with its defaults

	quoted     bool // values are quoted: all of them, or those that need quotes
	doubled    bool // a quote within quotes is doubled
	lenient    bool // a quote within quotes is written unchanged
	whole      bool // a column is quoted in all records, except for NULL, or in none
	escapes    bool // it escapes with a backslash
	quotedOnly bool // it escapes only within quotes
	letters    dialect.Map
	// must are bytes that are always escaped, in addition to the escape character.
	must string
	// mustSep means that the separator, or the first byte of a longer one, is always escaped outside quotes. mustEnd means that the record separator,
	// or its first byte, is always escaped, within quotes too, and mustQuote means the same for the quote.
	mustSep, mustEnd, mustQuote bool
	may                         string // bytes that are sometimes escaped
	noCR                        bool   // values with a CR are quoted

	seps   string // the separators that it supports; empty: any
	header bool   // its first record may be a header
	named  bool   // its first record is always a header
	null   string // text for NULL
	free   bool   // users can choose any other text for NULL
	lines  bool   // records end only with LF or CR LF
	ends   string // the only record separator; empty: any
	noNull bool   // it has no NULL, unless free is set
}

func writers() []*writer {
	return []*writer{
		{what: "CSV with doubled quotes", preset: dialect.PostgresCSV, quoted: true, doubled: true, noCR: true, header: true, free: true, lines: true},
		{what: "CSV of pandas", preset: dialect.Pandas, quoted: true, doubled: true, header: true, free: true, lines: true},
		{what: "CSV of Spark, with escapes in quotes", preset: dialect.Spark, quoted: true, escapes: true, quotedOnly: true, letters: dialect.Literal, mustQuote: true, header: true, free: true, lines: true},
		{what: "CSV of pandas with escapechar", preset: dialect.Pandas, quoted: true, escapes: true, letters: dialect.Literal, mustQuote: true, header: true, free: true, lines: true},
		{what: "MySQL's INTO OUTFILE", preset: dialect.MySQLText, escapes: true, letters: dialect.MySQL, must: "\x00", mustSep: true, mustEnd: true, null: `\N`},
		{what: "MySQL's INTO OUTFILE with quotes", preset: dialect.MySQLCSV, quoted: true, whole: true, escapes: true, letters: dialect.MySQL, must: "\x00", mustSep: true, mustEnd: true, mustQuote: true, null: `\N`},
		{what: "MySQL's INTO OUTFILE with quotes and without escapes", preset: dialect.MySQLCSV, quoted: true, whole: true, lenient: true, null: "NULL"},
		{what: "MySQL's client in batch mode", preset: dialect.MySQLTSV, escapes: true, letters: dialect.MySQLBatch, must: "\x00\n\t", seps: "\t", header: true, null: "NULL", lines: true},
		{what: "PostgreSQL's COPY, text format", preset: dialect.PostgresTxt, escapes: true, letters: dialect.Postgres, must: "\b\f\n\r\t\v", mustSep: true, null: `\N`, header: true, free: true, lines: true},
		{what: "Hive's text with escapes", preset: dialect.HiveEscaped, escapes: true, letters: dialect.Literal, mustSep: true, may: "\x02\x03", null: `\N`, free: true, lines: true},
		{what: "Hive's text with escapes of line ends", preset: dialect.HiveEscaped, escapes: true, letters: dialect.HiveCRLF, must: "\n\r", mustSep: true, may: "\x02\x03", null: `\N`, free: true, lines: true},
		{what: "jq's @tsv", preset: dialect.JQText, escapes: true, letters: dialect.JQ, must: "\n\r\t", seps: "\t", header: true, lines: true},
		{what: "Hive's text", preset: dialect.Hive, null: `\N`, free: true},
		{what: "a dump", preset: dialect.Dump, seps: "\x01", ends: "\x10", noNull: true, free: true},
		{what: "text with names and without quotes", preset: dialect.Hive, header: true, named: true, null: "", free: true, lines: true},
	}
}

// dialect returns the dialect of a writer with separators and a quote. NULL and the header are determined later.
func (w *writer) dialect(sep, end string, quote byte) dialect.Dialect {
	d := dialect.Dialect{Name: w.preset, FieldSep: sep, RecordSep: end, Map: dialect.Literal, Header: dialect.HeaderNo, Trim: dialect.TrimNone}
	if w.quoted {
		d.Quote, d.Doubled, d.Lenient, d.QuotedOnly = string(rune(quote)), w.doubled, w.lenient, w.quotedOnly
	}
	if w.escapes {
		d.Escape, d.Map = `\`, w.letters
	}
	return d
}

// laws define how a writer writes each byte of a value: as an escape followed by the given letter, or unchanged if the letter is 0.
type laws struct {
	outside, within [256]byte // escapes that are required outside and within quotes
	may             [256]bool
	unescape        *dialect.Unescaper
	escape, quote   byte
	escapes         bool // outside quotes
	noCR            bool
}

func (w *writer) laws(d *dialect.Dialect) *laws {
	l := &laws{noCR: w.noCR}
	if d.Quote != "" {
		l.quote = d.Quote[0]
	}
	if !w.escapes {
		return l
	}
	l.escape, l.escapes, l.unescape = '\\', !w.quotedOnly, d.Unescaper()
	letter := map[byte]byte{}
	for c := range 256 {
		if v, n := l.unescape.One([]byte{byte(c), 0, 0}); n == 1 && v != byte(c) && letter[v] == 0 {
			letter[v] = byte(c)
		}
	}
	must := func(table *[256]byte, b byte) {
		if table[b] = letter[b]; table[b] == 0 {
			table[b] = b
		}
	}
	itself := func(table *[256]byte, b byte) {
		if table[b] == 0 {
			table[b] = b
		}
	}
	end := cmp.Or(d.RecordSep, "\r\n")
	for _, table := range []*[256]byte{&l.outside, &l.within} {
		must(table, '\\')
		for _, b := range []byte(w.must) {
			must(table, b)
		}
		if w.mustEnd {
			itself(table, end[0])
		}
		if w.mustQuote {
			itself(table, l.quote)
		}
	}
	if w.mustSep {
		itself(&l.outside, d.FieldSep[0])
	}
	for _, b := range []byte(w.may) {
		l.may[b] = true
	}
	return l
}

// allow reports whether the writer would have written the bytes of a field that is not its text for NULL. In seen, it counts the escapes by the byte
// that follows them.
func (l *laws) allow(raw []byte, quoted bool, seen *[256]int) bool {
	if !quoted && l.noCR && bytes.IndexByte(raw, '\r') >= 0 {
		return false
	}
	if l.escape == 0 || !quoted && !l.escapes {
		return true
	}
	table := &l.outside
	if quoted {
		table = &l.within
	}
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b != l.escape {
			if table[b] != 0 {
				return false
			}
			continue
		}
		if i++; i == len(raw) {
			return false
		}
		v, n := l.unescape.One(raw[i:])
		if n != 1 || table[v] != raw[i] && !(l.may[v] && v == raw[i]) {
			return false
		}
		if raw[0] != '{' && raw[0] != '[' { // JSON has its own escapes
			seen[raw[i]]++
		}
	}
	return true
}
