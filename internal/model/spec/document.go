package spec

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// WithoutMark returns the text of a file without the byte order mark that editors of Windows put before it.
func WithoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// OneDocument refuses a YAML file of several documents: the decoder reads the first and passes over the others without a word. What
// is no YAML is left to the decoder.
func OneDocument(data []byte) error {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil
	}
	_, err = oneDocument(f)
	return err
}

// oneDocument returns the only document of a file, nil if it is empty. After it, not even an empty document may follow: the parser drops what
// comes after that.
func oneDocument(f *ast.File) (body ast.Node, err error) {
	for _, doc := range f.Docs {
		if body != nil {
			return nil, fmt.Errorf("line %d: a second document begins: a file has one", lineOf(doc))
		}
		if doc.Body != nil && doc.Body.Type() != ast.CommentType && doc.Body.Type() != ast.DirectiveType {
			body = doc.Body
		}
	}
	return body, nil
}

// lineOf returns the line on which a document begins, at its dashes if it has some.
func lineOf(doc *ast.DocumentNode) int {
	switch {
	case doc.Start != nil:
		return doc.Start.Position.Line
	case doc.Body != nil:
		return doc.Body.GetToken().Position.Line
	}
	return 1
}
