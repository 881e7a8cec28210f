package sniff

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"bulkload/pkg/setting"
)

// Ambiguous returns an error for text that is read as CSV by default although its beginning suggests another format: another byte seems to
// separate its columns, or it has \N, which exporters write for NULL. header means that the first line has the names of the columns, and whole
// that head is the whole text.
func Ambiguous(head []byte, header, whole bool) error {
	comma := byte(',')
	head = bytes.TrimPrefix(head, []byte(BOM))
	if i := bytes.LastIndexByte(head, '\n'); !whole && i >= 0 {
		head = head[:i+1]
	}
	if line, _, _ := bytes.Cut(head, []byte("\n")); bytes.HasPrefix(line, []byte("sep=")) && len(bytes.TrimSuffix(line, []byte("\r"))) == len("sep=;") {
		return setting.Errorf("its first line is %q, by which Excel knows the separator: give %s excel", bytes.TrimSuffix(line, []byte("\r")), setting.Name("dialect"))
	}
	if sep, ok := otherSep(head, comma); ok {
		return setting.Errorf("its first lines have one column, with %s as often in each: is %s %s right? (%s csv: one column)",
			sepName(sep), setting.FieldSep, sepText(sep), setting.Format)
	}
	if record, column := bareNull(head, comma); record > 0 {
		where := fmt.Sprintf("record %d", record)
		if header {
			if where = fmt.Sprintf("record %d", record-1); record == 1 {
				where = "its header"
			}
		}
		null := setting.Name("null_value")
		return setting.Errorf(`%s, column %d is \N, which exporters write for NULL: give %s '\N' if it is NULL, or %s none if it is text (or name the exporter by %s)`,
			where, column, null, null, setting.Name("dialect"))
	}
	return nil
}

func sepName(sep byte) string {
	if sep == '\t' {
		return "TAB"
	}
	return fmt.Sprintf("%q", sep)
}

// sepText returns a separator as a setting takes it.
func sepText(sep byte) string { return "'" + strings.Trim(strconv.Quote(string(sep)), `"`) + "'" }

// otherSep returns a separator that occurs equally often in all lines, if there are no commas and no quotes.
func otherSep(head []byte, comma byte) (byte, bool) {
	if bytes.IndexByte(head, comma) >= 0 || bytes.IndexByte(head, '"') >= 0 {
		return 0, false
	}
	for _, sep := range []byte("\t;|") {
		first, lines := 0, 0
		for line := range bytes.Lines(head) {
			if len(bytes.TrimRight(line, "\r\n")) == 0 {
				continue
			}
			n := bytes.Count(line, []byte{sep})
			if lines++; lines == 1 {
				first = n
			}
			if n == 0 || n != first {
				first = 0
				break
			}
		}
		if first > 0 && lines > 1 {
			return sep, true
		}
	}
	return 0, false
}

// bareNull returns the record and the column, counted from 1, of the first unquoted field that is \N; 0 if there is none.
func bareNull(head []byte, comma byte) (record, column int) {
	if !bytes.Contains(head, []byte(`\N`)) {
		return 0, 0
	}
	record, column = 1, 1
	inside, from := false, 0
	for i, b := range head {
		switch {
		case b == '"':
			inside = !inside
		case inside:
		case b == comma || b == '\n':
			if v := bytes.TrimSuffix(head[from:i], []byte{'\r'}); string(v) == `\N` {
				return record, column
			}
			if from = i + 1; b == comma {
				column++
			} else {
				record, column = record+1, 1
			}
		}
	}
	if string(head[from:]) == `\N` {
		return record, column
	}
	return 0, 0
}

// BeginsObject reports whether text begins like JSON lines: with an opening brace that is followed by a quote, a closing brace or nothing. Blanks are
// ignored.
func BeginsObject(text []byte) bool {
	const blanks = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, []byte(BOM)), blanks), []byte{'{'})
	rest = bytes.TrimLeft(rest, blanks)
	return ok && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}
