package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/span"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A wish is wanted members as a tree, for the oracle, which knows nothing of paths.
type wish struct {
	field int // -1: none
	sub   map[string]*wish
}

// wishes are the tree of lists of names, and the paths of the same.
func wishes(names [][]string) (tree *wish, paths []string) {
	tree = &wish{field: -1, sub: map[string]*wish{}}
	for field, list := range names {
		at := tree
		var parts []string
		for _, name := range list {
			if at.sub == nil {
				at.sub = map[string]*wish{}
			}
			if at.sub[name] == nil {
				at.sub[name] = &wish{field: -1}
			}
			at = at.sub[name]
			parts = append(parts, strings.ReplaceAll(strings.ReplaceAll(name, `\`, `\\`), `.`, `\.`))
		}
		at.field = field
		paths = append(paths, strings.Join(parts, "."))
	}
	return tree, paths
}

// oracle is a second implementation, by jsontext, which refuses invalid UTF-8 and halves of surrogate pairs as well.
// A null is nil.
func oracle(line []byte, tree *wish, columns int) ([]*string, error) {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		return nil, errors.New("no object")
	}
	for {
		_, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if d.StackDepth() > 512 {
			return nil, errors.New("too deep")
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("behind the object: %v", err)
	}
	row := make([]*string, columns)
	return row, oracleObject(line, tree, row)
}

func oracleObject(raw []byte, tree *wish, row []*string) error {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if seen[name] {
			return errors.New("name twice")
		}
		seen[name] = true
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		w := tree.sub[name]
		if w == nil || value.Kind() == 'n' {
			continue
		}
		if w.sub != nil {
			if value.Kind() != '{' {
				return errors.New("a path through no object")
			}
			if err := oracleObject(value, w, row); err != nil {
				return err
			}
		}
		if w.field >= 0 {
			text := string(value)
			if value.Kind() == '"' {
				b, err := jsontext.AppendUnquote(nil, value)
				if err != nil {
					return err
				}
				text = string(b)
			}
			row[w.field] = &text
		}
	}
	return nil
}

// texts are fields as the oracle has them.
func texts(buf []byte, fields []span.Span) []*string {
	row := make([]*string, len(fields))
	for i, f := range fields {
		if !f.IsNull() {
			s := string(f.Of(buf))
			row[i] = &s
		}
	}
	return row
}

// parse parses a line that lies between others in a buffer.
func parse(t *testing.T, p *Parser, line []byte, columns int) ([]*string, error) {
	t.Helper()
	const before, behind = "{\"x\":\"\xff\"}\n", "\n\"}]\xff\\"
	buf := []byte(before + string(line) + behind)
	n := len(buf)
	fields := make([]span.Span, columns)
	grown, err := p.Parse(buf[:n:n], len(before), len(before)+len(line), fields)
	if len(grown) < n || len(grown) > n+len(line) || string(grown[:n]) != before+string(line)+behind {
		t.Fatalf("%q: the buffer has become %q", line, grown)
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(line) || e.Reason == "" || len(grown) != n {
			t.Fatalf("%q: %#v", line, err)
		}
		return nil, err
	}
	return texts(grown, fields), nil
}

// beyond are the faults of lines that encoding/json takes.
var beyond = []fault{
	faultArray, faultScalar, faultNoObject, faultWholeFile, faultDeep, faultMany, faultUTF8, faultSurrogate, faultTwice, faultThrough,
}

// judge holds one line to the oracle and to encoding/json.
func judge(t *testing.T, p *Parser, line []byte, tree *wish, columns int) {
	t.Helper()
	row, err := parse(t, p, line, columns)
	want, wantErr := oracle(line, tree, columns)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v; jsontext: %v", line, err, wantErr)
	}
	valid := json.Valid(line)
	if err != nil {
		var e *Error
		errors.As(err, &e)
		if valid && !slices.ContainsFunc(beyond, func(f fault) bool { return f.String() == e.Reason }) {
			t.Fatalf("%q: %v; encoding/json takes it", line, err)
		}
		return
	}
	if !valid {
		t.Fatalf("%q: encoding/json refuses it", line)
	}
	if d := cmp.Diff(want, row); d != "" {
		t.Fatalf("%q (-jsontext +here):\n%s", line, d)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, name := range slices.Sorted(maps.Keys(tree.sub)) {
		field := tree.sub[name].field
		if field < 0 {
			continue
		}
		switch v := object[name].(type) {
		case nil:
			if row[field] != nil {
				t.Fatalf("%q, %q: %q; encoding/json has null", line, name, *row[field])
			}
		case string, json.Number, bool:
			if row[field] == nil || *row[field] != fmt.Sprint(v) {
				t.Fatalf("%q, %q: %v; encoding/json has %q", line, name, row[field], fmt.Sprint(v))
			}
		default:
			var again any
			d := json.NewDecoder(strings.NewReader(*row[field]))
			d.UseNumber()
			if err := d.Decode(&again); err != nil || cmp.Diff(v, again) != "" {
				t.Fatalf("%q, %q: %v; encoding/json differs by %s", line, name, err, cmp.Diff(v, again))
			}
		}
	}
}
