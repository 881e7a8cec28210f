package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// print writes a result: as one line of JSON, or as people read it.
func (g *globals) print(w io.Writer, v any, text func(io.Writer)) error {
	if !g.json() {
		text(w)
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// bytesText prints a count of bytes for people.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n), -1
	for v >= unit && i < 3 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}

// unlessQuiet leaves the text of a result away with --quiet, so that cron has nothing to mail after a success.
func (g *globals) unlessQuiet(text func(io.Writer)) func(io.Writer) {
	if g.quiet {
		return func(io.Writer) {}
	}
	return text
}
