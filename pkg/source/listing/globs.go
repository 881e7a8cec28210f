package listing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of a pattern.
const (
	maxAlternatives = 10_000
	maxNesting      = 100 // braces within braces
)

// alternatives expands {a,b} like shells: braces without a comma, or without a closing brace, are literal, and so is a character after a
// backslash. The number of alternatives and their nesting are limited.
func alternatives(pattern string) ([]string, error) {
	b := bracer{text: pattern}
	list, err := b.sequence(0)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return list, nil
}

// bracer reads a pattern with braces.
type bracer struct {
	text string
	at   int
	made int // alternatives, over all
}

// sequence reads up to the end or, within braces, up to a comma or the closing brace.
func (b *bracer) sequence(depth int) ([]string, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("braces are nested more than %d deep", maxNesting)
	}
	list := []string{""}
	from := b.at
	literal := func() {
		for i := range list {
			list[i] += b.text[from:b.at]
		}
	}
	for b.at < len(b.text) {
		switch c := b.text[b.at]; {
		case c == '\\' && b.at+1 < len(b.text):
			b.at += 2
		case depth > 0 && (c == ',' || c == '}'):
			literal()
			return list, nil
		case c == '{' && b.closes():
			literal()
			b.at++
			inner, err := b.braces(depth)
			if err != nil {
				return nil, err
			}
			if b.made += len(list) * len(inner); b.made > maxAlternatives || len(list)*len(inner) > maxAlternatives {
				return nil, fmt.Errorf("its braces make more than %d patterns", maxAlternatives)
			}
			var all []string
			for _, head := range list {
				for _, tail := range inner {
					all = append(all, head+tail)
				}
			}
			list, from = all, b.at
		default:
			b.at++
		}
	}
	literal()
	return list, nil
}

// braces reads alternatives up to the closing brace.
func (b *bracer) braces(depth int) ([]string, error) {
	var all []string
	for {
		list, err := b.sequence(depth + 1)
		if err != nil {
			return nil, err
		}
		if all = append(all, list...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("its braces make more than %d patterns", maxAlternatives)
		}
		b.at++
		if b.text[b.at-1] == '}' {
			return all, nil
		}
	}
}

// closes reports whether the current brace has a comma and is closed.
func (b *bracer) closes() bool {
	depth, comma := 0, false
	for i := b.at; i < len(b.text); i++ {
		switch b.text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			comma = comma || depth == 1
		case '}':
			if depth--; depth == 0 {
				return comma
			}
		}
	}
	return false
}

// wild are the characters that make a pattern of a path.
const wild = `*?[\{`

// patterns adds the files that match the alternatives of a pattern: each file once, ordered by name.
func (e *expansion) patterns(ctx context.Context, name string) error {
	list, err := alternatives(name)
	if err != nil {
		return err
	}
	e.seen = map[string]bool{}
	found := false
	for _, pattern := range list {
		pattern = path.Clean(pattern)
		one, err := e.pattern(ctx, pattern)
		if err != nil && (len(list) == 1 || !e.missing(ctx, pattern)) {
			return err
		}
		found = found || one
	}
	if !found && e.found.hidden == 0 && e.found.pruned == 0 {
		return fmt.Errorf("no file matches the pattern: %w", fs.ErrNotExist)
	}
	byName := func(a, b *File) int {
		return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
	}
	slices.SortStableFunc(e.files, byName)
	slices.SortStableFunc(e.empty, byName)
	return nil
}

// missing reports whether the part of a pattern before its first wildcard does not exist. An error that is found below it, such as a link that leads
// nowhere, is not one of an alternative that does not exist.
func (e *expansion) missing(ctx context.Context, pattern string) bool {
	base, _ := globBase(pattern)
	_, err := e.fs.Stat(ctx, base)
	return errors.Is(err, fs.ErrNotExist)
}

// pattern adds the files that match a pattern without braces.
func (e *expansion) pattern(ctx context.Context, name string) (bool, error) {
	base, pattern := globBase(name)
	if pattern == "" {
		info, err := e.fs.Stat(ctx, base)
		if err != nil {
			return false, err
		}
		return true, e.given(ctx, base, info)
	}
	elements := slices.CompactFunc(strings.Split(pattern, "/"), func(a, b string) bool { return a == "**" && b == "**" })
	for _, element := range elements {
		if _, err := path.Match(element, ""); err != nil {
			return false, fmt.Errorf("pattern: %w", err)
		}
	}
	if err := e.rejectInsideTable(ctx, base); err != nil || e.prunedPath(base) {
		return false, err
	}
	e.visited = map[visit]bool{}
	return e.glob(ctx, base, elements)
}

// globBase cuts a pattern before its first element with a wildcard. Escaped characters before it are literal.
func globBase(name string) (base, pattern string) {
	elements := strings.Split(name, "/")
	for i, element := range elements {
		if strings.ContainsAny(escaped.ReplaceAllString(element, ""), "*?[") || element == "**" {
			return "/" + strings.TrimPrefix(literal(strings.Join(elements[:i], "/")), "/"), strings.Join(elements[i:], "/")
		}
	}
	return literal(name), ""
}

// escaped matches a character of an element after a backslash.
var escaped = regexp.MustCompile(`\\([^/])`)

// literal returns a path without wildcards, with the backslashes before escaped characters removed.
func literal(p string) string { return escaped.ReplaceAllString(p, "$1") }

// visit is a directory with the number of pattern elements that its contents must still match.
type visit struct {
	dir  string
	left int
}

// glob adds the files that match the elements of a pattern, level by level, ordered by name. Hidden names match only an element that begins
// with the same character. ** matches any number of directories, including none, and follows
// links, as [expansion.dir] does.
func (e *expansion) glob(ctx context.Context, dir string, elements []string) (bool, error) {
	v := visit{dir, len(elements)}
	if e.visited[v] {
		return false, nil
	}
	e.visited[v] = true
	deep := elements[0] == "**"
	if deep && len(elements) == 1 {
		return true, e.dir(ctx, dir)
	}
	found := false
	if deep {
		var err error
		if found, err = e.glob(ctx, dir, elements[1:]); err != nil {
			return false, err
		}
	}
	entries, err := e.list(ctx, dir)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		below, err := e.match(ctx, dir, entry, elements, deep)
		if err != nil {
			return false, err
		}
		found = found || below
	}
	return found, nil
}

// match adds an entry of a directory if it matches the first of the elements, and the files below it that match the others.
func (e *expansion) match(ctx context.Context, dir string, entry fs.FileInfo, elements []string, deep bool) (bool, error) {
	name, child := entry.Name(), path.Join(dir, entry.Name())
	if deep {
		if HiddenKind(name) != "" || e.pruned(name) {
			return false, nil
		}
		if entry, err := e.follow(ctx, child, entry); err != nil || !entry.IsDir() {
			return false, err
		}
		return e.glob(ctx, child, elements)
	}
	if ok, err := path.Match(elements[0], name); err != nil || !ok {
		return false, err
	}
	if kind := HiddenKind(name); kind != "" && elements[0][0] != name[0] {
		if len(elements) == 1 {
			e.hide(kind, child)
		}
		return false, nil
	}
	entry, err := e.follow(ctx, child, entry)
	if err != nil {
		return false, err
	}
	switch {
	case entry.IsDir() && e.pruned(name):
		e.leave(kindPruned, child)
		return false, nil
	case len(elements) == 1:
		return true, e.entry(ctx, child, entry)
	case entry.IsDir():
		return e.glob(ctx, child, elements[1:])
	}
	return false, nil
}
