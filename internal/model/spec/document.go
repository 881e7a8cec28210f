package spec

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// WithoutMark returns the text of a file without a leading byte order mark, which Windows editors write.
func WithoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// OneDocument refuses a YAML file of several documents, because the decoder would read the first and silently ignore the others. It accepts text that is
// not YAML, which the decoder refuses.
func OneDocument(data []byte) error {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil
	}
	_, err = oneDocument(f)
	return err
}

// oneDocument returns the body of a file's document, nil if the file is empty. Even an empty second document is an error, because the parser drops the
// text after it.
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

// lineOf returns the line where a document begins: of its dashes, if it has any.
func lineOf(doc *ast.DocumentNode) int {
	switch {
	case doc.Start != nil:
		return doc.Start.Position.Line
	case doc.Body != nil:
		return doc.Body.GetToken().Position.Line
	}
	return 1
}
