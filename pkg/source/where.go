package source

import (
	"bytes"
	"fmt"
	"strings"
)

// A condition compares the value of a partition column with another, as text: by bytes, so that dates as 2026-11-01 are in
// order, and numbers are not (9 is after 10). NULL, written as its directory is, is only equal to itself, and neither unequal
// nor before or after anything, as in SQL.
type condition struct {
	text  string
	name  string
	op    string
	value []byte
	null  bool
}

// operators, each before those that it begins with.
var operators = []string{"<=", ">=", "!=", "<>", "==", "=", "<", ">"}

// parseWhere reads conditions such as dt>=2026-11-01.
func parseWhere(texts []string) ([]condition, error) {
	var list []condition
	for _, text := range texts {
		c, ok := parseCondition(text)
		if !ok {
			return nil, fmt.Errorf("where %q is no condition such as dt>=2026-11-01: a partition column, one of = != < <= > >=, and a value", text)
		}
		list = append(list, c)
	}
	return list, nil
}

func parseCondition(text string) (condition, bool) {
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return condition{}, false
	}
	c := condition{text: text, name: strings.TrimSpace(text[:at])}
	for _, op := range operators {
		if value, ok := strings.CutPrefix(text[at:], op); ok {
			value = strings.TrimSpace(value)
			c.op, c.value, c.null = op, []byte(value), value == nullPartition
			return c, c.name != "" && (!c.null || c.op != "<" && c.op != ">" && c.op != "<=" && c.op != ">=")
		}
	}
	return condition{}, false
}

// admits reports whether the condition holds of a value.
func (c *condition) admits(v constant) bool {
	order := bytes.Compare(v.value, c.value)
	equal := c.op == "=" || c.op == "=="
	switch {
	case c.null:
		return v.null == equal
	case v.null:
		return false
	case equal:
		return order == 0
	}
	switch c.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return order != 0
}

// pruned says that a directory of this name cannot match.
func (e *expansion) pruned(element string) bool {
	if len(e.where) == 0 {
		return false
	}
	v, ok := parsePartition(element)
	if !ok {
		return false
	}
	for i := range e.where {
		if c := &e.where[i]; c.name == v.name && !c.admits(v) {
			return true
		}
	}
	return false
}

// prunedPath says so of all directories of a path, and counts it as one.
func (e *expansion) prunedPath(dir string) bool {
	for element := range strings.SplitSeq(dir, "/") {
		if e.pruned(element) {
			e.leave(kindPruned, dir)
			return true
		}
	}
	return false
}
