package source

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"bulkload/pkg/source/dialect"
)

// Reasons for records that result from concatenated files, or whose ends differ from those of their dialect.
const (
	reasonMark   = "a byte order mark stands before it: files were put together"
	reasonHeader = "it repeats the names of the columns: files were put together"
	reasonFirst  = "it is the names of the columns, as a header is (header yes reads it as one)"
	reasonCRCR   = `its line ends with CR CR LF (record_sep '\r\r\n' reads such lines)`
	reasonCR     = `its line ends with CR LF, not with LF (record_sep '\r\n' reads such lines)`
	reasonWide   = "UTF-16 begins here, after text in another character set: give the files that were put together one by one"
	reasonSub    = "the text ends with 0x1A, as DOS ends texts: remove that byte"
)

// noMark is the decoded form of a byte order mark of UTF-16 in the other order of bytes.
var noMark = []byte("\ufffe")

const sub = 0x1a // SUB, Control-Z

// strays holds the facts that a reader needs to find a file's stray records: records that result from the making of the file and are not
// data.
type strays struct {
	repeats bool                   // a record can repeat the header
	column  int                    // the first column with a name, if so
	length  uint32                 // of that name
	begins  byte                   // its first byte
	cr      string                 // the reason for a record whose last value ends with CR; none: such a value is data
	noCR    bool                   // a record's end has no CR
	noSub   bool                   // 0x1A is a separator
	noWide  bool                   // a record can begin with a separator that is a byte of UTF-16's mark
	escaped func(text []byte) bool // reports whether the byte after a text is; nil: there are no escapes

	comments bool // can follow a record
}

func (f *inputFile) strays(o *Options) (s strays) {
	s.length = math.MaxUint32
	if !f.facts.cut {
		return s
	}
	f.content.(textForm).strays(&s, o)
	// One column without a header is often a list of words, and its name can be one of them.
	s.column = slices.IndexFunc(f.columns, func(name string) bool { return name != "" })
	if s.repeats = s.column >= 0 && (len(f.columns) > 1 || f.isHeaded()); s.repeats {
		s.length, s.begins = uint32(len(f.columns[s.column])), f.columns[s.column][0]
	}
	s.column = max(s.column, 0)
	return s
}

// stray returns the first row that is not data, and why; rows, if all are data. For most records it reads one byte of each end, and the length
// of the first value of a column that has a name.
func (r *Reader) stray(fields []Span, offsets []int64, end int) (row int, reason string) {
	if !r.file.facts.cut {
		return len(offsets), ""
	}
	buf, s, cols := r.buf, &r.strays, r.file.cols
	start, cr := int(offsets[0]-r.off), s.cr != ""
	for i := range offsets {
		next := end
		if i+1 < len(offsets) {
			next = int(offsets[i+1] - r.off)
		}
		named := &fields[i*cols+s.column]
		doubt := buf[start] >= bom[0] || buf[start] == sub || next == r.textEnd || named.Len == s.length && buf[named.Off] == s.begins
		if cr && next-start > 1 && (buf[next-2] == '\r' || buf[next-2] == '\n') {
			doubt = doubt || s.noCR || buf[next-2] == '\n'
			if next-start > 2 { // of a record's CR LF, or a blank line's
				doubt = doubt || buf[next-3] == '\r' || buf[next-3] == '\n'
			}
		}
		if doubt || s.comments {
			values := fields[i*cols : (i+1)*cols]
			if reason := r.strayReason(start, r.endOf(values, start, next), values); reason != "" {
				return i, reason
			}
		}
		start = next
	}
	return len(offsets), ""
}

// endOf returns where the record buf[start:next] with these values ends, before comments that follow it.
func (r *Reader) endOf(values []Span, start, next int) int {
	if !r.strays.comments {
		return next
	}
	sep := cmp.Or(r.file.dialect.RecordSep, "\n")
	last := values[len(values)-1]
	if from := int(last.Off) + int(last.Len); !last.IsNull() && int(last.Off) >= start && from <= next {
		if i := bytes.Index(r.buf[from:next], []byte(sep)); i >= 0 {
			return from + i + len(sep)
		}
	} else if bytes.Contains(r.buf[start:next], []byte("\r"+sep)) {
		// The value is stored elsewhere, or is NULL: the record is scanned again.
		return start + len(r.text.record(r.buf[start:next]))
	}
	return next
}

// strayReason returns why the record buf[start:end] is not data, empty if it is data. Its values are given if they are known.
func (r *Reader) strayReason(start, end int, values []Span) string {
	record := r.trimEnd(r.buf[start:end])
	plain := record
	if !r.strays.noSub {
		plain = bytes.TrimLeft(record, "\x1a")
	}
	switch {
	case r.wideFrom(record):
		return reasonWide
	case bytes.HasPrefix(plain, bom) && utf8.Valid(plain):
		return reasonMark
	case r.file.charset != nil && values != nil && bytes.HasPrefix(values[0].Of(r.buf), bom) && plain[0] != '"':
		return reasonMark
	case end == r.textEnd && !r.strays.noSub && len(record) > 0 && (len(plain) == 0 || r.buf[end-1] == sub && !r.escaped(record)):
		return reasonSub
	case r.strays.cr != "" && bytes.HasSuffix(record, []byte{'\r'}) && !r.escaped(record):
		return r.strays.cr
	case values != nil && r.repeatsHeader(values) && r.isFirst(start) && !r.file.isHeaded() && r.file.facts.Dialect != dialect.Dump:
		return reasonFirst
	case values != nil && r.repeatsHeader(values):
		return reasonHeader
	}
	return ""
}

// isFirst reports whether only blank lines stand before the record at start, in the same split.
func (r *Reader) isFirst(start int) bool {
	from := r.file.dataStart - r.off
	return from >= 0 && from <= int64(start) && len(bytes.Trim(r.buf[from:start], "\r\n")) == 0
}

// undecidedSub returns the length of the end mark of a last record of buf[:n] that ends with 0x1A, 0 for others: whether it is data shows only when it is
// known whether more text follows.
func (r *Reader) undecidedSub(n int) int {
	if !r.file.facts.cut || r.strays.noSub {
		return 0
	}
	record := r.trimEnd(r.buf[:n])
	if len(record) == 0 || record[len(record)-1] != sub {
		return 0
	}
	return n - len(record)
}

// escaped reports whether the last byte of a record is escaped.
func (r *Reader) escaped(record []byte) bool {
	return r.strays.escaped != nil && r.strays.escaped(record[:len(record)-1])
}

// repeatsHeader reports whether values are the names of the file's columns.
func (r *Reader) repeatsHeader(values []Span) bool {
	if !r.strays.repeats {
		return false
	}
	for i, name := range r.file.columns {
		value := values[i].Of(r.buf)
		if i == 0 {
			value = bytes.TrimLeft(value, "\x1a")
		}
		if string(value) != name {
			return false
		}
	}
	return true
}

// wideFrom reports whether UTF-16 begins at a record in text of another character set, or UTF-16 in the other byte order. The records after
// it look like text, so no budget of bad records allows it.
func (r *Reader) wideFrom(record []byte) bool {
	if r.file.transcoded {
		return bytes.HasPrefix(record, noMark)
	}
	mark := bytes.HasPrefix(record, []byte{0xff, 0xfe}) || bytes.HasPrefix(record, []byte{0xfe, 0xff})
	return mark && !r.strays.noWide && bytes.IndexByte(record, 0) >= 0
}
