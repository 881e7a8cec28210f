package yamlfile

import (
	"bytes"
	"fmt"
)

// MaxSize is the maximum number of bytes of a file: the parser takes more than a hundred times its size.
const MaxSize = 4 << 20

// maxNesting is the maximum depth of values within values. The parser takes memory and time by the square of the depth.
const maxNesting = 100

// checkNesting refuses a file whose values are nested too deep for the parser. It reads the text and builds nothing. What is no YAML is left to the
// parser.
func checkNesting(data []byte) error {
	var n nesting
	for line := 1; len(data) > 0; line++ {
		end := len(data)
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			end = i + 1
			if bytes.HasPrefix(data[i:], []byte("\r\n")) {
				end++
			}
		}
		if n.read(bytes.TrimRight(data[:end], "\r\n")); n.depth() > maxNesting {
			return fmt.Errorf("line %d: values are nested more than %d deep", line, maxNesting)
		}
		data = data[end:]
	}
	return nil
}

// nesting holds the lists, mappings and texts that are open after a line.
type nesting struct {
	columns  []int // of the lists and mappings
	brackets int
	quote    byte
	text     bool // in a block scalar (| or >): lines that are indented deeper than column from are its text
	from     int
	begins   bool // the next character may begin a value: only there do quotes, dashes and brackets count
}

func (n *nesting) depth() int { return len(n.columns) + n.brackets }

// read reads a line, up to where it is nested too deep.
func (n *nesting) read(line []byte) {
	first := len(line) - len(bytes.TrimLeft(line, " \t"))
	if first == len(line) {
		return
	}
	block := n.quote == 0 && n.brackets == 0
	if block {
		if n.text && first > n.from {
			return
		}
		for k := len(n.columns) - 1; k >= 0 && n.columns[k] >= first; k-- {
			n.columns = n.columns[:k]
		}
		n.columns = append(n.columns, first)
		n.text, n.from, n.begins = false, first, true
	}
	for at := first; at < len(line) && n.depth() <= maxNesting; at++ {
		c, apart := line[at], at+1 == len(line) || blank(line[at+1])
		switch {
		case n.quote != 0:
			if c == '\\' && n.quote == '"' || c == '\'' && n.quote == c && at+1 < len(line) && line[at+1] == c { // '' is one quote
				at++
			} else if c == n.quote {
				n.quote, n.begins = 0, !apart && line[at+1] == ':'
			}
		case blank(c):
		case c == '#' && (at == 0 || blank(line[at-1])):
			return
		case n.begins && (c == '"' || c == '\''):
			// The first of a line may be in a text of several lines that began without one.
			if !block || at > first || bytes.IndexByte(line[at+1:], c) >= 0 {
				n.quote = c
			}
			n.begins = false
		case (n.begins || n.brackets > 0) && (c == '[' || c == '{'):
			n.brackets++
			n.begins = true
		case n.brackets > 0 && (c == ']' || c == '}'):
			n.brackets--
			n.begins = false
		case n.brackets > 0:
			n.begins = c == ',' || c == ':' || n.begins && (c == '?' || c == '-') && apart
		case n.begins && (c == '-' || c == '?') && apart:
			n.columns, n.from = append(n.columns, at+1), at
		case n.begins && (c == '|' || c == '>'):
			n.text = true
			return
		case n.begins && (c == '&' || c == '!'): // of the value that follows
			for at+1 < len(line) && !blank(line[at+1]) {
				at++
			}
		case at == 0 && bytes.HasPrefix(line, []byte("---")):
			at += 2
		default:
			if n.begins && c != ':' {
				n.from = at
			}
			n.begins = c == ':' && (apart || n.begins)
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
