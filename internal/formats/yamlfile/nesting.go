package yamlfile

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// MaxSize is the maximum number of bytes of a file: the parser takes more than a hundred times its size.
const MaxSize = 4 << 20

// maxNesting is the maximum depth of values within values. The parser takes memory and time by the square of the depth.
const maxNesting = 100

// checkNesting refuses a file whose values are nested too deep for the parser. Outside of brackets, a value is within those that begin in columns before
// its own.
func checkNesting(tokens token.Tokens) error {
	var columns []int // of the lists and mappings that are open
	brackets, line := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		}
		if at := t.Position; brackets <= 0 && (at.Line > line || t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType) {
			for n := len(columns); n > 0 && columns[n-1] >= at.Column; n-- {
				columns = columns[:n-1]
			}
			columns, line = append(columns, at.Column), at.Line
		}
		if len(columns)+max(brackets, 0) > maxNesting {
			return fmt.Errorf("line %d: values are nested more than %d deep", t.Position.Line, maxNesting)
		}
	}
	return nil
}
