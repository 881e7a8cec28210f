package ui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// Console is standard error: log lines, and what the program says to a person. While a live view stands there, lines go
// through it, so that they do not tear it.
type Console struct {
	File *os.File

	mu   sync.Mutex
	view io.Writer    // nil: none stands
	log  *slog.Logger // not nil: all that is said are lines of this log
}

// Write writes whole lines.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil {
		if n, err := c.view.Write(p); err == nil {
			return n, nil
		}
		c.view = nil // the terminal is gone, or will not have it
	}
	return c.File.Write(p)
}

// through has lines go through a view from now on, or, if it is nil, straight to the file.
func (c *Console) through(view io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view = view
}

// SpeakBy has all that is said become lines of a log whose reader is a program.
func (c *Console) SpeakBy(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = log
}

// Say shows a person something that is not a line of the log, unless the log's reader is a program: then it is one.
func (c *Console) Say(level slog.Level, msg, text string) {
	c.mu.Lock()
	log := c.log
	c.mu.Unlock()
	if log != nil {
		log.Log(context.Background(), level, msg, "error", text)
		return
	}
	fmt.Fprintf(c, "bulkload: %s\n", text)
}
