package sniff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// BOM is the byte order mark of UTF-8.
const BOM = "\ufeff"

// maxName is the largest length in bytes of a column's name. Longer text is not a name but data, or several lines.
const maxName = 4096

var (
	// ErrCROnly reports text whose lines end with CR only, and ErrUTF16 text that is UTF-16 or has NUL bytes.
	ErrCROnly = errors.New("its line ends are CR only, so that it would be one line: end lines with LF or CR LF (tr '\\r' '\\n' makes them)")
	ErrUTF16  = setting.Errorf("it is UTF-16, or another text with NUL bytes: give %s utf-16, or write it as UTF-8", setting.Name("charset"))
)

// Wide reports whether a text has characters of two bytes: at least half of the bytes at even indices are NUL and at most 2 % of those at
// odd indices, or the reverse.
func Wide(head []byte) bool {
	var nul [2]int
	head = head[:min(len(head), 4<<10)]
	for i, b := range head {
		if b == 0 {
			nul[i&1]++
		}
	}
	half := len(head) / 2
	return half >= 4 && max(nul[0], nul[1]) >= (half+1)/2 && min(nul[0], nul[1]) <= half/50
}

// CheckHeader returns an error for invalid, empty or repeated column names.
func CheckHeader(names []string) error {
	if err := CheckTextHeader(names); err != nil {
		return err
	}
	return valuetext.CheckNames(names)
}

// CheckTextHeader is [CheckHeader] for text, but accepts empty names, which the schema checks.
func CheckTextHeader(names []string) error {
	for i, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("column %d has a name of %s, and %d are the most: the first line is data, or a line end or a quote is missing", i+1, setting.Count(len(n), "byte"), maxName)
		}
		if bytes.IndexByte([]byte(n), 0) >= 0 {
			return setting.Errorf("column %d has NUL bytes in its name: the text is not UTF-8, or the file is of another format (%s)", i+1, setting.Format)
		}
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if j, ok := seen[n]; ok && n != "" {
			return &HeaderError{setting.Textf("columns %d and %d have the same name, of %s", j, i+1, setting.Count(len(n), "byte")), n}
		}
		seen[n] = i + 1
	}
	return nil
}

// Blank reports whether a text without a header is empty or has only empty lines. Empty lines are records only if there is a single column.
func Blank(data []byte) bool { return len(bytes.Trim(data, "\r\n")) == 0 }

// CheckHeaderLine returns an error for a header line with a second byte order mark, or with another line end than its dialect's: bytes of the line
// end would become a part of the last name and of all last values.
func CheckHeaderLine(names []string, line []byte, recordSep string) error {
	switch {
	case strings.HasPrefix(names[0], BOM):
		return errors.New("a byte order mark stands before its first name, after the first one or a blank line: remove it")
	case recordSep == "" && bytes.HasSuffix(line, []byte("\r\r\n")):
		return errors.New(`its line ends with CR CR LF (record_sep '\r\r\n' reads such lines)`)
	case recordSep == "\n" && bytes.HasSuffix(line, []byte("\r\n")):
		return errors.New(`its line ends with CR LF, and those of the dialect with LF alone (record_sep '\r\n' reads such lines)`)
	}
	return nil
}

// Alike reports whether a record's values are the names of the columns, ignoring a byte order mark before and CRs after the values.
func Alike(values, names []string) bool {
	return len(values) == len(names) && len(names) > 0 && slices.Equal(bare(values), names)
}

// Named reports whether a record's values are names of columns, in any order and each once, ignoring the same bytes as [Alike].
func Named(values, names []string) bool {
	if len(values) == 0 || len(values) > len(names) {
		return false
	}
	left := make(map[string]bool, len(names))
	for _, name := range names {
		left[name] = true
	}
	for _, v := range bare(values) {
		if !left[v] {
			return false
		}
		delete(left, v)
	}
	return true
}

// bare returns values without a byte order mark before and CRs after them.
func bare(values []string) []string {
	values = slices.Clone(values)
	values[0] = strings.TrimPrefix(values[0], BOM)
	last := &values[len(values)-1]
	*last = strings.TrimRight(*last, "\r")
	return values
}

// HeaderError is an error about a column name in a file's first line. The line is data if the file has no header, so the
// message shows only the position of the name.
type HeaderError struct {
	Text setting.Text
	Name string
}

func (e *HeaderError) Error() string                             { return e.Text.String() }
func (e *HeaderError) Settings() []setting.Name                  { return e.Text.Settings() }
func (e *HeaderError) In(words func(setting.Name) string) string { return e.Text.In(words) }

// Data returns the name, for callers that may show it.
func (e *HeaderError) Data() []byte { return []byte(e.Name) }
