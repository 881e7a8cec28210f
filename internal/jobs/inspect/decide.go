package inspect

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"bulkload/internal/formats/sniff"
	"bulkload/pkg/source/dialect"
)

// reading is a way to read the whole sample.
type reading struct {
	scan    *scan
	dialect dialect.Dialect // with all settings
	cols    []stat
	sum     uint64 // checksum of its values
}

// The numbers of matches from which on a coincidence is ruled out: values of a column that have one type, and valid escapes and quotes.
const (
	enoughTyped = 5
	enoughSigns = 8
)

// readings returns the readings of one way of cutting: one for each possible header setting and each possible way of writing NULL.
func (s *scan) readings(g *Given, more []string) []*reading {
	var all []*reading
	end := s.dialect.RecordSep
	if end == "" && s.dialect.QuotedOnly { // a job file has CR LF for these dialects, or LF
		if end = "\r\n"; s.lf > 0 {
			return nil
		}
	}
	headers := s.headers()
	if h := g.spec.Header; h == "match" {
		headers = []dialect.Header{dialect.HeaderYes}
	} else if h != "" {
		headers = []dialect.Header{dialect.Header(h)}
	}
	for _, h := range headers {
		cols := s.columns(h)
		nulls := s.nulls(cols, more)
		if g.spec.NullValue != nil {
			nulls = []null{{g.nulls(), s.dialect.Quote != "" && g.spec.NullQuoted == "yes"}}
		}
		for _, n := range nulls {
			d := s.dialect
			d.RecordSep, d.Header, d.Null, d.NullQuoted = end, h, n.texts, n.quoted
			all = append(all, &reading{scan: s, dialect: d, cols: cols})
		}
	}
	return all
}

// headers returns the header settings that neither the writer nor the values rule out.
func (s *scan) headers() []dialect.Header {
	yes, no, same, filled, shown := 0, 0, true, 0, false
	enough := enoughTyped
	if s.csv {
		enough = 1 // CSV usually has a header
	}
	for i := range s.files {
		f := &s.files[i]
		if f.records == 0 {
			continue
		}
		filled++
		y, n := f.names(enough)
		shown = shown || y
		switch {
		case y && !n:
			yes++
		case n && !y:
			no++
		}
		same = same && slices.EqualFunc(f.first, s.files[0].first, bytes.Equal)
	}
	open := filled - yes - no
	firstNames := false
	if len(s.files) > 0 {
		y, n := s.files[0].names(enough)
		firstNames = y && !n
	}
	var found []dialect.Header
	switch {
	case yes > 0 && no == 0 && open == 0, yes > 0 && no == 0 && same, filled > 1 && no == 0 && same:
		found = []dialect.Header{dialect.HeaderYes}
	case firstNames && yes == 1 && no == filled-1 && filled > 1:
		found = []dialect.Header{dialect.HeaderFirst}
	case no > 0 && yes == 0:
		found = []dialect.Header{dialect.HeaderNo}
	default:
		found = []dialect.Header{dialect.HeaderYes, dialect.HeaderNo}
	}
	only := func(h dialect.Header) []dialect.Header {
		if slices.Contains(found, h) {
			return []dialect.Header{h}
		}
		return nil
	}
	switch {
	case !s.w.header:
		return only(dialect.HeaderNo)
	case s.w.named:
		return only(dialect.HeaderYes)
	}
	if slices.Contains(found, dialect.HeaderYes) && s.unusable(false) != nil {
		if !shown {
			return only(dialect.HeaderNo)
		}
		return []dialect.Header{dialect.HeaderYes, dialect.HeaderNo} // a header that a job refuses is no record either
	}
	return found
}

// unusable returns an error if a job refuses the names in the first records. ignored reports that columns without a name are not read.
func (s *scan) unusable(ignored bool) error {
	for i := range s.files {
		f, check := &s.files[i], sniff.CheckHeader
		if ignored || s.files[i].unnamed() { // nameFirst names the first column
			check = sniff.CheckTextHeader
		}
		names := make([]string, len(f.first))
		for k, name := range f.first {
			if names[k] = string(name); !utf8.Valid(name) {
				return fmt.Errorf("column %d has a name that is not UTF-8", k+1)
			}
		}
		if err := check(names); err != nil {
			return err
		}
	}
	return nil
}

// names reports whether there is evidence that the first record of a file consists of names, and whether there is evidence against that.
func (f *fileScan) names(enough int) (yes, no bool) {
	typed, seen := 0, make(map[string]bool, len(f.first))
	for k, name := range f.first {
		twice := seen[string(name)]
		seen[string(name)] = true
		class := f.cols[k].typ.class()
		if f.firstToken[k] >= 0 && !(k == 0 && f.unnamed()) || class == 0 && (len(name) > 128 || bytes.IndexByte(name, '\n') >= 0) || bytes.IndexByte(name, 0) >= 0 ||
			f.cols[k].again || twice {
			no = true
		}
		switch own := typeOf(name).class(); {
		case class != 0 && own == class:
			no = true
		case class != 0 && own == 0 && f.firstToken[k] < 0:
			typed += f.cols[k].typed
		case k == 0 && f.unnamed() && f.counted:
			typed += f.cols[k].typed
		}
	}
	return typed >= enough, no
}

// unnamed reports whether only the first value of the first record is empty: the missing name of R's row names or pandas' index.
func (f *fileScan) unnamed() bool {
	return len(f.first) > 1 && len(f.first[0]) == 0 && !slices.ContainsFunc(f.first[1:], func(v []byte) bool { return len(v) == 0 })
}

// null is a way of writing NULL.
type null struct {
	texts  []string
	quoted bool
}

// nulls returns the ways of writing NULL that the writer and the values allow.
func (s *scan) nulls(cols []stat, more []string) []null {
	if s.w.whole && !s.wholeColumns(cols) {
		return nil
	}
	text := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return more[i-len(tokens)]
	}
	shown, quoted, seen := map[string]bool{}, false, map[string]bool{}
	both := map[string]bool{} // texts that a column has both with and without quotes
	plain, inQuotes := 0, 0
	for i := range cols {
		c := &cols[i]
		plain, inQuotes = plain+c.plain, inQuotes+c.quoted
		typed := c.typ.class() != 0 && c.typed >= enoughTyped
		for t := range c.bare {
			seen[text(t)] = true
			if typed {
				shown[text(t)] = true
			}
			if c.inQuotes[t] > 0 {
				both[text(t)] = true
			}
		}
		for t := range c.inQuotes {
			if typed {
				shown[text(t)], quoted = true, true
			}
		}
	}
	if len(shown) == 1 && s.w.free && s.rawN >= enoughTyped {
		shown[`\N`] = true // so many of them are NULL, even if a column of numbers has another word for NULL
	}
	own := s.w.null
	may := func(t string) bool { return s.w.free || t == own && !s.w.noNull }
	var found []null
	add := func(quoted bool, texts ...string) {
		if s.rawN > 0 && s.w.escapes && !s.w.quotedOnly && !slices.Contains(texts, `\N`) {
			return // the writer would have escaped it
		}
		found = append(found, null{texts, quoted})
	}
	switch {
	case len(shown) == 1:
		for t := range shown {
			if may(t) {
				add(quoted, t)
			}
		}
	case len(shown) > 1 && s.w.free:
		list := slices.Sorted(maps.Keys(shown))
		add(quoted, list...)
		for _, t := range list {
			add(quoted, t)
		}
	case len(shown) > 1:
	case s.w.free && len(both) == 1:
		add(false, slices.Sorted(maps.Keys(both))...)
	case s.w.free && s.w.quoted && plain == 0 && inQuotes >= enoughSigns && len(seen) == 1:
		add(false, slices.Sorted(maps.Keys(seen))...)
	default:
		if s.w.noNull {
			add(false)
		} else {
			add(false, own)
		}
		if !s.w.free || own != "" && seen[own] && s.w.escapes { // own is NULL: the writer would have escaped a text like it
			break
		}
		for _, t := range tokens[:4] {
			if seen[t] && (t != own || s.w.noNull) && !(t == "" && s.w.noNull) {
				add(false, t)
			}
		}
	}
	return found
}

// wholeColumns reports whether each column is either completely quoted or not at all, except for NULL.
func (s *scan) wholeColumns(cols []stat) bool {
	for i := range cols {
		c := &cols[i]
		quoted, plain := c.quoted, c.plain
		for _, n := range c.inQuotes {
			quoted += n
		}
		for t, n := range c.bare {
			if t >= len(tokens) || tokens[t] != s.w.null {
				plain += n
			}
		}
		if quoted > 0 && plain > 0 || c.bare[0] > 0 {
			return false
		}
	}
	return true
}
