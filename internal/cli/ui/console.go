package ui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
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
