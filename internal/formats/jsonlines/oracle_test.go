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

	"bulkload/pkg/source/span"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// wish is a tree of wanted members, for the oracle, which does not parse paths.
type wish struct {
	field   int // -1: none
	sub     map[string]*wish
	literal map[string]int // of the root: fields that a member of the line with this name can provide
}

// wishes returns the tree and the paths of lists of names.
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
	tree.literal = map[string]int{}
	for field, list := range names {
		whole := strings.Join(list, ".")
		own := tree.sub[whole]
		if len(list) > 1 && strings.Count(whole, ".") == len(list)-1 && !strings.Contains(whole, `\`) && (own == nil || own.field < 0) {
			tree.literal[whole] = field
		}
	}
	return tree, paths
}

// fields returns all fields of a wish.
func (w *wish) fields() (all []int) {
	if w.field >= 0 {
		all = append(all, w.field)
	}
	for _, sub := range w.sub {
		all = append(all, sub.fields()...)
	}
	return all
}

// met is the result of a line for the wanted members.
type met struct {
	row     []*string
	path    map[int]bool    // fields whose path is in the line
	through map[int]bool    // fields whose path leads through a value that is not an object
	values  map[int]*string // of literals
}

// oracle is a second implementation, with jsontext, which also refuses invalid UTF-8 and halves of surrogate pairs. A
// null is nil.
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
	m := &met{make([]*string, columns), map[int]bool{}, map[int]bool{}, map[int]*string{}}
	if err := oracleObject(line, tree, m); err != nil {
		return nil, err
	}
	for field, value := range m.values {
		if m.path[field] {
			return nil, errors.New("a member and a path")
		}
		m.row[field] = value
	}
	for field := range m.through {
		if _, ok := m.values[field]; !ok {
			return nil, errors.New("a path through no object")
		}
	}
	return m.row, nil
}

func oracleObject(raw []byte, tree *wish, m *met) error {
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
		text, err := oracleText(value)
		if err != nil {
			return err
		}
		if field, ok := tree.literal[name]; ok {
			m.values[field] = text
		}
		w := tree.sub[name]
		if w == nil {
			continue
		}
		if w.sub != nil && value.Kind() == '{' {
			if err := oracleObject(value, w, m); err != nil {
				return err
			}
		} else if w.sub != nil && value.Kind() != 'n' {
			for _, sub := range w.sub {
				for _, field := range sub.fields() {
					m.through[field] = true
				}
			}
		}
		if w.field >= 0 {
			m.path[w.field], m.row[w.field] = true, text
		}
	}
	return nil
}

// oracleText returns a value as text, nil for null.
func oracleText(value jsontext.Value) (*string, error) {
	text := string(value)
	switch value.Kind() {
	case 'n':
		return nil, nil
	case '"':
		b, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	return &text, nil
}

// texts returns fields in the form of the oracle's.
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

// parse parses a line that has other lines around it in the buffer.
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

// beyond are the faults of lines that encoding/json accepts.
var beyond = []fault{
	faultArray, faultScalar, faultNoObject, faultWholeFile, faultDeep, faultMany, faultUTF8, faultSurrogate, faultTwice, faultThrough, faultBoth,
}

// judge compares one line with the oracle and with encoding/json.
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
