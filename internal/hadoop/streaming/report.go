package streaming

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// mostStatus bounds a status, in bytes. Hadoop cuts what is longer than mapreduce.task.max.status.length, 512.
const mostStatus = 500

// Status reports what the attempt is doing, on its standard error. It counts as progress: an attempt that says nothing, and
// neither reads nor writes records, for mapreduce.task.timeout is killed. Control characters become spaces.
func Status(w io.Writer, text string) error {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > mostStatus {
		text = strings.ToValidUTF8(text[:mostStatus], "")
	}
	return line(w, "reporter:status:"+text)
}

// Count adds to a counter of the job. Counters of attempts that fail do not count, and those of a reduce without any record
// are lost, so nothing may depend on them. A group and a name have no comma and no control character.
func Count(w io.Writer, group, name string, n int64) error {
	for _, word := range []string{group, name} {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r == ',' || unicode.IsControl(r) }) {
			return fmt.Errorf("%q cannot name a counter", word)
		}
	}
	return line(w, "reporter:counter:"+group+","+name+","+strconv.FormatInt(n, 10))
}

// line is written at once, so that lines of several goroutines do not mix.
func line(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
	return err
}
