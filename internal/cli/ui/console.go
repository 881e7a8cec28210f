package ui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Console is standard error, for log lines and messages to the user. While a live view is shown, lines go through it,
// so that they do not disturb it.
type Console struct {
	File *os.File

	mu   sync.Mutex
	view io.Writer    // nil: no view is shown
	log  *slog.Logger // not nil: all messages are lines of this log
}

// Write writes whole lines.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil {
		if n, err := c.view.Write(p); err == nil {
			return n, nil
		}
		c.view = nil // the terminal is gone, or does not accept the output
	}
	return c.File.Write(p)
}

// through sends lines through a view from now on, or directly to the file if the view is nil.
func (c *Console) through(view io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view = view
}

// SpeakBy turns all messages into lines of a log that a program reads.
func (c *Console) SpeakBy(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = log
}

// Say prints a message for the user that is not a log line. If a program reads the log, the message becomes a log
// line.
func (c *Console) Say(level slog.Level, msg, text string) {
	c.mu.Lock()
	log := c.log
	c.mu.Unlock()
	if log != nil {
		log.Log(context.Background(), level, msg, "error", text)
		return
	}
	fmt.Fprintf(Plain(c), "bulkload: %s\n", text)
}

// Plain returns a writer of text for people. Control characters, which names of files and columns may have and a terminal would obey, become \xNN;
// line ends and tabs stay. A character is in one call of Write.
func Plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	_, err := io.WriteString(p.w, plain(string(b)))
	return len(b), err
}

func plain(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		c, n := utf8.DecodeRuneInString(text)
		if obeyed(c) {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// obeyed reports whether a terminal obeys a character.
func obeyed(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
