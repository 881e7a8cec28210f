package inspect

import "bulkload/pkg/source/dialect"

// A writer is a program that writes text, as far as it decides on what its bytes mean: what it puts in quotes, what it escapes, and
// how. The facts are those of package dialect, as observed in files of these programs.
type writer struct {
	what   string // in messages
	preset string // the dialect of its defaults

	quoted     bool // values stand in quotes, all or where they need them
	doubled    bool // a quote within them is doubled
	lenient    bool // or written as it is
	whole      bool // a column is in quotes as a whole, but for NULL, or not at all
	escapes    bool // a backslash stands before what it escapes
	quotedOnly bool // in quotes only
	letters    dialect.Map
	// must are bytes that are always escaped, in addition to the escape itself.
	must string
	// mustSep: the separator, or the first byte of a longer one, is escaped outside of quotes; mustEnd: that of the records' end;
	// mustQuote: the quote.
	mustSep, mustEnd, mustQuote bool
	may                         string // bytes that are sometimes
	noCR                        bool   // a value with a CR is in quotes

	seps   string // the separators that it has, if it does not have any
	header bool   // its first record may be the names
	named  bool   // and is
	null   string // what stands for NULL
	free   bool   // or any other text
	lines  bool   // records end with LF or CR LF only
	ends   string // or with this only
	noNull bool   // nothing is NULL, unless free says otherwise
}

// writers returns the writers that are known.
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

// dialect returns the dialect of a writer with separators and a quote. What is NULL and the header are found later.
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

// laws say of each byte of a value how its writer writes it: as the letter after the escape, or 0 for the byte itself.
type laws struct {
	outside, within [256]byte // must, without quotes and within
	may             [256]bool
	unescape        *dialect.Unescaper
	escape, quote   byte
	escapes         bool // outside of quotes
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
	end := d.RecordSep
	if end == "" {
		end = "\r\n"
	}
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

// hold reports whether the writer would have written these bytes, which a field has and which are not its text for NULL. It counts the
// escapes, by what follows them.
func (l *laws) hold(raw []byte, quoted bool, seen *[256]int) bool {
	if !quoted && l.noCR {
		for _, b := range raw {
			if b == '\r' {
				return false
			}
		}
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
		if raw[0] != '{' && raw[0] != '[' { // JSON has escapes of its own
			seen[raw[i]]++
		}
	}
	return true
}
