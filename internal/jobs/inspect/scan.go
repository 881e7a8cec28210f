package inspect

import (
	"bytes"
	"hash/maphash"
	"slices"

	"bulkload/pkg/source/dialect"
)

// text is the sample of one file, in UTF-8.
type text struct {
	path  string
	data  []byte
	whole bool // the sample is the whole file
	csv   bool // the file's name says that it is CSV
	gaps  []gap
}

// tokens are texts that exporters write for NULL.
var tokens = []string{"", `\N`, "NULL", "null", "Null", "(null)", "<null>", "None", "NA", "N/A", "#N/A", "-"}

const tokenBackslashN = 1 // index in tokens

// tokenOf returns the index of a text in tokens, -1 if it is not there.
func tokenOf(raw []byte, more []string) int {
	if len(raw) > 6 && len(more) == 0 {
		return -1
	}
	if i := slices.Index(tokens, string(raw)); i >= 0 {
		return i
	}
	if i := slices.Index(more, string(raw)); i >= 0 {
		return len(tokens) + i
	}
	return -1
}

type stat struct {
	typ            Type
	typed          int // values that are not tokens
	bare, inQuotes map[int]int
	quoted, plain  int  // of the values that are not tokens
	again          bool // the value of the first record occurs again
}

func (s *stat) add(v []byte, f field, token int) {
	if token >= 0 {
		m := &s.bare
		if f.quoted {
			m = &s.inQuotes
		}
		if *m == nil {
			*m = map[int]int{}
		}
		(*m)[token]++
		return
	}
	if f.quoted {
		s.quoted++
	} else {
		s.plain++
	}
	s.typed++
	if s.typ != TypeText {
		s.typ = join(s.typ, typeOf(v))
	}
}

func (s *stat) merge(o *stat) {
	s.typ, s.typed, s.quoted, s.plain, s.again = join(s.typ, o.typ), s.typed+o.typed, s.quoted+o.quoted, s.plain+o.plain, s.again || o.again
	for _, m := range []struct {
		to   *map[int]int
		from map[int]int
	}{{&s.bare, o.bare}, {&s.inQuotes, o.inQuotes}} {
		for t, n := range m.from {
			if *m.to == nil {
				*m.to = map[int]int{}
			}
			(*m.to)[t] += n
		}
	}
}

// fileScan has the results for one file in a reading.
type fileScan struct {
	first      [][]byte // values of the first record
	firstField []field
	firstToken []int
	cols       []stat // of the other records
	records    int    // including the first
	counted    bool   // the first column has the row numbers, from 0 or 1
	fromOne    bool   // these begin at 1
	again      *Place // where the first record is repeated
	mark       *Place // a byte order mark before a record that is not the first
}

// scan has the results for all texts, cut according to a writer.
type scan struct {
	w       *writer
	dialect dialect.Dialect
	files   []fileScan
	width   int

	records, crlf, lf int
	escapes           [256]int // number of escapes, by the byte that follows
	quotes, doubled   int      // values in quotes, and how many of them have doubled quotes
	rawN              int      // number of values \N without quotes
	suffix            []byte   // common suffix of all records before the record separator
	csv               bool     // all files have names of CSV files
	lawful            bool     // the writer would have written these bytes
	bad               *Place   // the first fault, if any
}

// judge determines the format of texts. It has the texts, and the settings that are the same for all readings.
type judge struct {
	texts []text
	more  []string // configured texts of NULL
	only  []string // separators to try; nil: all
	skip  int      // lines at the start of each file that are not records
	end   int      // lines at the end
	aside *aside   // the bad records that are left out; nil: none
}

// bounds returns the offset where the first record of a text may begin, and the one where the last ends.
func (j *judge) bounds(t *text) (start, stop int) {
	if bytes.HasPrefix(t.data, []byte("\ufeff")) {
		start = 3
	}
	for range j.skip {
		i := bytes.IndexByte(t.data[start:], '\n')
		if i < 0 {
			return len(t.data), len(t.data)
		}
		start += i + 1
	}
	stop = len(t.data)
	if t.whole {
		for range j.end {
			stop = max(start, bytes.LastIndexByte(bytes.TrimSuffix(t.data[:stop], []byte("\n")), '\n')+1)
		}
	}
	return start, stop
}

// scan cuts the texts, of each its head of limit bytes (0: all). It stops at the first fault.
func (j *judge) scan(w *writer, d dialect.Dialect, limit int) *scan {
	s := &scan{w: w, dialect: d, csv: j.csv(), lawful: true}
	c, l := newCutter(&s.dialect), w.laws(&s.dialect)
	for i := range j.texts {
		t := &j.texts[i]
		at, stop := j.bounds(t)
		whole := t.whole
		if limit > 0 && stop-at > limit {
			stop, whole = headEnd(t.data, at, stop, limit), false
		}
		f := fileScan{}
		good := s.file(c, l, &f, t.data[:stop], at, whole, j.more)
		if s.files = append(s.files, f); !good {
			s.bad.File = t.path
			return s
		}
	}
	return s
}

// file scans one text; it returns false at a fault.
func (s *scan) file(c *cutter, l *laws, f *fileScan, data []byte, at int, whole bool, more []string) bool {
	for at < len(data) {
		next, outcome := c.next(data, at, whole)
		if outcome == recordCut {
			if len(data)-at > max(64<<10, len(data)/4) {
				s.bad = &Place{Byte: int64(at), Record: int64(f.records + 1)}
				return false
			}
			return true
		}
		if outcome == recordBad {
			s.bad = &Place{Byte: int64(next), Record: int64(f.records + 1)}
			return false
		}
		if c.blank() && (f.records == 0 || f.width() > 1) {
			at = next
			continue
		}
		if f.records > 0 && len(c.fields) != f.width() {
			s.bad = &Place{Byte: int64(at), Record: int64(f.records + 1)}
			return false
		}
		s.ends(c, data, at, next)
		if f.records > 0 && f.repeatsFirst(c, data, at) {
			f.records++
			at = next
			continue
		}
		if !s.record(c, l, f, data, more) {
			s.lawful = false
		}
		at = next
	}
	return true
}

func (f *fileScan) width() int { return len(f.first) }

// ends records how a record ends.
func (s *scan) ends(c *cutter, data []byte, at, next int) {
	if s.records++; c.crlf {
		s.crlf++
	} else if c.cr && bytes.HasSuffix(data[at:next], []byte("\n")) {
		s.lf++
	}
	const most = 4
	line := bytes.TrimSuffix(data[at:next], []byte(c.end))
	if c.crlf {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	tail := line[max(0, len(line)-most):]
	if s.records == 1 {
		s.suffix = bytes.Clone(tail)
		return
	}
	n := 0
	for n < len(s.suffix) && n < len(tail) && s.suffix[len(s.suffix)-1-n] == tail[len(tail)-1-n] {
		n++
	}
	s.suffix = s.suffix[len(s.suffix)-n:]
}

// record adds the current record; it returns false if the writer would not have written the record.
func (s *scan) record(c *cutter, l *laws, f *fileScan, data []byte, more []string) bool {
	first, lawful := f.records == 0, true
	if first {
		f.cols = make([]stat, len(c.fields))
		for i := range f.cols {
			f.cols[i].typ = TypeUnknown
		}
		s.width = max(s.width, len(c.fields))
	}
	f.records++
	if !first {
		f.checkRowNumber(c.value(data, c.fields[0]))
	}
	for i, fd := range c.fields {
		raw := data[fd.from:fd.to]
		token := tokenOf(raw, more)
		if fd.quoted {
			if s.quotes++; fd.rewritten && c.dialect.Doubled {
				s.doubled++
			}
		}
		if token == tokenBackslashN && !fd.quoted {
			s.rawN++
		} else if !l.allow(raw, fd.quoted, &s.escapes) {
			lawful = false
		}
		v := c.value(data, fd)
		if i == 0 && !first {
			v = bytes.TrimPrefix(v, mark)
		}
		if first {
			f.first, f.firstField, f.firstToken = append(f.first, bytes.Clone(v)), append(f.firstField, fd), append(f.firstToken, token)
			continue
		}
		st := &f.cols[i]
		st.add(v, fd, token)
		if !st.again && bytes.Equal(v, f.first[i]) {
			st.again = true
		}
	}
	return lawful
}

// columns returns the columns of all files: matched by name if the first records are headers, otherwise by position. Headers are not included.
func (s *scan) columns(h dialect.Header) []stat {
	var all []stat
	at := map[string]int{}
	for i := range s.files {
		f := &s.files[i]
		named := h == dialect.HeaderYes || h == dialect.HeaderFirst && i == 0
		for k := range f.cols {
			place := k
			if h == dialect.HeaderYes {
				p, ok := at[string(f.first[k])]
				if !ok {
					p = len(all)
					at[string(f.first[k])] = p
				}
				place = p
			}
			for place >= len(all) {
				all = append(all, stat{typ: TypeUnknown})
			}
			all[place].merge(&f.cols[k])
			if !named {
				all[place].add(f.first[k], f.firstField[k], f.firstToken[k])
			}
		}
	}
	return all
}

// sum returns a checksum of all values of a reading, including NULL.
func (j *judge) sum(r *reading, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range j.texts {
		for rec := range j.records(r, i) {
			for k, f := range rec.fields {
				if rec.null(k) {
					h.WriteByte(1)
					continue
				}
				v := rec.cutter.value(rec.data, f)
				h.WriteByte(2)
				maphash.WriteComparable(&h, uint32(len(v)))
				h.Write(v)
			}
			h.WriteByte(3)
		}
		h.WriteByte(4)
	}
	return h.Sum64()
}
