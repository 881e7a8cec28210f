package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// print writes a result: as people read it, or as one line of JSON, which is kept until it is known how the command ended.
func (g *globals) print(w io.Writer, v any, text func(io.Writer)) error {
	if !g.json() {
		text(w)
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return g.hold(w, b)
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
