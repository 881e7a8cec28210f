package source

import (
	"bytes"
	"fmt"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/sniff"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// endings rejects text whose lines end otherwise than its records, so that it would be one record: with CR only, or with LF where another
// separator is to end records, and none does. text begins with a record. last says that it ends with the text of the file, and whole that
// no more of it is read. wait reports that more is needed.
func (f *inputFile) endings(text []byte, last, whole bool) (wait bool, err error) {
	sep := f.dialect.RecordSep
	switch lines := sep == "" || sep == "\n" && f.expectsHeader(); {
	case lines && !delimited.CROnly(f.dialect, f.decoder(), text), sep == "\n" && !lines, !lines && bytes.Contains(text, []byte(sep)):
		return false, nil
	case !whole:
		return true, nil
	case lines:
		return false, fmt.Errorf("%s: %w", f.Path, sniff.ErrCROnly)
	case last && bytes.HasSuffix(text, []byte("\n")):
		return false, f.errLineFeed(dialect.Text(sep))
	}
	return false, nil
}

// expectsHeader reports whether the first record is a header in any case.
func (f *inputFile) expectsHeader() bool {
	h := f.dialect.Header
	return h == dialect.HeaderYes || h == dialect.HeaderFirst && f.first
}

// skipLines returns where the text begins after the lines that the dialect skips; -1 if it does not have as many. CR does not end them.
func (f *inputFile) skipLines(text []byte, whole bool) (int, error) {
	at := 0
	for range f.dialect.SkipLines {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 && whole && bytes.IndexByte(bytes.TrimRight(text[at:], "\r"), '\r') >= 0 {
			return -1, fmt.Errorf("%s: %w", f.Path, sniff.ErrCROnly)
		}
		if i < 0 {
			return -1, nil
		}
		at += i + 1
	}
	return at, nil
}

// errLineFeed is the error of text that ends with a line feed, and without the separator of its records.
func (f *inputFile) errLineFeed(sep string) error {
	return setting.Errorf("%s: no record ends with %s, and the file ends with a line feed: %s", f.Path, sep, whichSep())
}
