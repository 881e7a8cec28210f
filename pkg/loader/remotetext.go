package loader

import (
	"fmt"
	"regexp"
	"strings"
)

// hidden replaces row data in a server's text.
const hidden = "***"

// Patterns of row data in a server's text: the first row of a region, in its name; the text after a word for a row or a key, such as
// firstKey=Optional[row/f:q/1/Put/vlen=1/seqid=0] of a file that is read (HFileReaderImpl, 2.6) or row='x' of a wrong region
// (HRegion.checkRow); and a cell anywhere (KeyValue.keyToString).
var (
	regionName = regexp.MustCompile(`(?s)([\w.:-]+),.+?,(\d{10,}(?:_\d+)?\.[0-9a-f]{32}\.)`)
	aboutRow   = regexp.MustCompile(`(?s)(\b(?:\w*(?:Row|Key|Cell)|row|key|cell|cur)s?(?:\(\))?(?:\s*[=:'"\[({]|\s)).*`)
	cellText   = regexp.MustCompile(`(?s)/(?:vlen=|seqid=|mvcc=|Put\b|Delete|Minimum|Maximum|LATEST_TIMESTAMP|OLDEST_TIMESTAMP)`)
)

// withoutRows returns a server's text without row data. A text that still contains a cell is hidden whole: the beginning of its row cannot
// be found.
func withoutRows(text string) string {
	text = regionName.ReplaceAllString(text, "$1,"+hidden+",$2")
	if at := aboutRow.FindStringSubmatchIndex(text); at != nil {
		text = text[:at[3]] + hidden
	}
	if cellText.MatchString(text) {
		return hidden
	}
	return text
}

// remoteError returns an exception with a text without row data; callers that may show rows can unwrap the whole text.
func remoteError(class, text, trace string) *RemoteError {
	e := &RemoteError{Class: class, Message: withoutRows(text), Trace: trace}
	if e.Message != text {
		e.rows = &rowsSaid{text}
	}
	return e
}

// rowsSaid is a server's text with its row data.
type rowsSaid struct{ text string }

func (e *rowsSaid) Error() string { return fmt.Sprintf("a text of %d bytes", len(e.text)) }

// Data returns the text, for callers that may show it.
func (e *rowsSaid) Data() []byte { return []byte(strings.ToValidUTF8(e.text, "?")) }
