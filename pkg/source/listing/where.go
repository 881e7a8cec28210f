package listing

import (
	"fmt"
	"slices"
	"strings"
)

// A Condition compares the value of a partition column with another, as text: by bytes, so that dates like 2026-11-01 are in order, and
// numbers are not (9 is after 10). NULL, written like its directory, is only equal to itself, and neither unequal to nor before or after
// anything, as in SQL.
type Condition struct {
	Text  string
	Name  string
	op    string
	value string
	null  bool
}

// operators, each before those that it begins with.
var operators = []string{"<=", ">=", "!=", "<>", "==", "=", "<", ">"}

// ParseWhere reads conditions such as dt>=2026-11-01. A value does not begin with <, > or =, except one such as <none> after = and !=.
func ParseWhere(texts []string) ([]Condition, error) {
	var list []Condition
	for _, text := range texts {
		c, ok := parseCondition(text)
		if !ok {
			return nil, fmt.Errorf("where %q is not a condition such as dt>=2026-11-01: a partition column, one of = != < <= > >=, and a value, which does not begin with < > =", text)
		}
		list = append(list, c)
	}
	return list, nil
}

func parseCondition(text string) (Condition, bool) {
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return Condition{}, false
	}
	c := Condition{Text: text, Name: strings.TrimSpace(text[:at])}
	for _, op := range operators {
		if value, ok := strings.CutPrefix(text[at:], op); ok {
			value = strings.TrimSpace(value)
			if foreign(op, value) {
				return Condition{}, false
			}
			c.op, c.value, c.null = op, value, value == nullPartition
			return c, c.Name != "" && (!c.null || c.op != "<" && c.op != ">" && c.op != "<=" && c.op != ">=")
		}
	}
	return Condition{}, false
}

// foreign reports whether a value's first character belongs to an operator that this language does not have, such as <=>. After = and !=, a value may be
// in angle brackets, such as <none>.
func foreign(op, value string) bool {
	if strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") && (op == "=" || op == "==" || op == "!=") {
		return false
	}
	return value != "" && strings.IndexByte("<>=", value[0]) >= 0
}

// Admits reports whether a value meets the condition.
func (c *Condition) Admits(v Partition) bool {
	order := strings.Compare(v.Value, c.value)
	equal := c.op == "=" || c.op == "=="
	switch {
	case c.null:
		return v.Null == equal
	case v.Null:
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

// pruned reports whether a directory of this name cannot match.
func (e *expansion) pruned(element string) bool {
	if len(e.where) == 0 {
		return false
	}
	v, ok := ParsePartition(element)
	if !ok {
		return false
	}
	return slices.ContainsFunc(e.where, func(c Condition) bool { return c.Name == v.Name && !c.Admits(v) })
}

// prunedPath checks all directories of a path, and counts them as one.
func (e *expansion) prunedPath(dir string) bool {
	for element := range strings.SplitSeq(dir, "/") {
		if e.pruned(element) {
			e.leave(kindPruned, dir)
			return true
		}
	}
	return false
}
