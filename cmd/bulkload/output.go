package main

import (
	"io"
)

// print writes a result: as people read it, or as one line of JSON, which is kept until it is known how the command ended.
func (g *globals) print(w io.Writer, v any, text func(io.Writer)) error {
	if !g.json() {
		text(w)
		return nil
	}
	return g.hold(w, v)
}
