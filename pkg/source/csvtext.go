package source

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// maxName is the greatest length of a column's name in bytes. What is longer is no name but data, or several lines.
const maxName = 4096

var (
	errCROnly  = errors.New("its line ends are CR only, so that it would be one line: end lines with LF or CR LF (tr '\\r' '\\n' makes them)")
	errRejects = setting.Errorf("it is a file of bad records of an earlier job: its records are read with %s rejects", setting.Format)
	errUTF16   = errors.New("it is UTF-16, or another text with NUL bytes: write it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
)

// checkText finds texts that no format here has, by their first bytes.
func (f *inputFile) checkText(head []byte, o *Options) error {
	asked := o.Format == f.format && f.facts.raw // all bytes are data
	if !asked && bytes.HasPrefix(head, []byte(rejects.Magic)) {
		return fmt.Errorf("%s: %w", f.Path, errRejects)
	}
	if f.facts.charset != nil && f.facts.charset(o) != "" {
		return nil
	}
	mark := bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
	if !f.facts.raw && wide(head) || mark && !asked {
		return fmt.Errorf("%s: %w", f.Path, errUTF16)
	}
	return nil
}

// wide says that half of the bytes at even places or at odd ones are NUL, and next to none of the others: characters of
// two bytes.
func wide(head []byte) bool {
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

// checkHeader finds names that are none.
func checkHeader(names []string) error {
	if err := checkTextHeader(names); err != nil {
		return err
	}
	return valuetext.CheckNames(names)
}

// checkTextHeader is checkHeader for text, where the schema judges columns without a name.
func checkTextHeader(names []string) error {
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
			return &headerError{setting.Textf("columns %d and %d have the same name, of %s", j, i+1, setting.Count(len(n), "byte")), n}
		}
		seen[n] = i + 1
	}
	return nil
}

// blankText says that a text without a header has no records, or lines without anything, which are records of one column at most.
func blankText(data []byte) bool { return len(bytes.Trim(data, "\r\n")) == 0 }

// checkHeaderLine finds a header that has more than names: a byte order mark after that of the text, or line ends of another kind than its
// dialect's, which would be a part of the last name and of all last values.
func checkHeaderLine(names []string, line []byte, recordSep string) error {
	switch {
	case strings.HasPrefix(names[0], string(bom)):
		return errors.New("a byte order mark stands before its first name, after the first one or a blank line: remove it")
	case recordSep == "" && bytes.HasSuffix(line, []byte("\r\r\n")):
		return errors.New(`its line ends with CR CR LF (record_sep '\r\r\n' reads such lines)`)
	case recordSep == "\n" && bytes.HasSuffix(line, []byte("\r\n")):
		return errors.New(`its line ends with CR LF, and those of the dialect with LF alone (record_sep '\r\n' reads such lines)`)
	}
	return nil
}

// alike says that a record's values are the names of the columns, but for a byte order mark before them and a CR after.
func alike(values, names []string) bool {
	if len(values) != len(names) || len(names) == 0 {
		return false
	}
	values = slices.Clone(values)
	values[0] = strings.TrimPrefix(values[0], string(bom))
	last := &values[len(values)-1]
	*last = strings.TrimRight(*last, "\r")
	return slices.Equal(values, names)
}

// headerError is about the name of a column in a file's first line, which is data if the file has no header: so the
// message has its place only.
type headerError struct {
	text setting.Text
	name string
}

func (e *headerError) Error() string                             { return e.text.String() }
func (e *headerError) Settings() []setting.Name                  { return e.text.Settings() }
func (e *headerError) In(words func(setting.Name) string) string { return e.text.In(words) }

// Data is the name, for callers that may show it.
func (e *headerError) Data() []byte { return []byte(e.name) }
