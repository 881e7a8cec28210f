package main

import (
	"encoding/json"
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
