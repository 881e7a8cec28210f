package streaming

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// maxStatus limits a status, in bytes. Hadoop truncates one longer than mapreduce.task.max.status.length, 512.
const maxStatus = 500

// Status reports the attempt's status on its standard error. It counts as progress: an attempt that reports nothing, and
// neither reads nor writes records, for mapreduce.task.timeout is killed. Control characters are replaced by spaces.
func Status(w io.Writer, text string) error {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "")
	}
	return line(w, "reporter:status:"+text)
}

// Count adds n to a counter of the job. Counters of failed attempts are ignored, and those of a reduce without any record
// are lost, so the result must not depend on them. Group and name must not contain commas or control characters.
func Count(w io.Writer, group, name string, n int64) error {
	for _, word := range []string{group, name} {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r == ',' || unicode.IsControl(r) }) {
			return fmt.Errorf("%q cannot name a counter", word)
		}
	}
	return line(w, "reporter:counter:"+group+","+name+","+strconv.FormatInt(n, 10))
}

// line writes a line in one call, so that lines of several goroutines do not mix.
func line(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
	return err
}
