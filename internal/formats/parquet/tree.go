package parquet

import (
	"slices"
	"strings"
)

// A Node is a column in the tree of a schema.
type Node[N any] interface {
	Name() string
	// Members returns the fields of a struct. For other columns ok is false: no path leads into them.
	Members() (members []N, ok bool)
}

// A Tree holds the top-level columns of a schema. Packages of other formats use it too.
type Tree[N Node[N]] []N

// Names returns the names of the columns.
func (t Tree[N]) Names() []string {
	names := make([]string, len(t))
	for i, n := range t {
		names[i] = n.Name()
	}
	return names
}

// Columns returns the names of the columns, followed by the wanted paths to members of structs. It omits a struct if members of it are wanted
// but the struct itself is not.
func (t Tree[N]) Columns(wanted []string) (columns []string) {
	var paths []string
	names := t.Names()
	for _, name := range names {
		inside := len(paths)
		for _, want := range wanted {
			if strings.HasPrefix(want, name+".") && !slices.Contains(names, want) && !slices.Contains(paths, want) && t.Find(want) != nil {
				paths = append(paths, want)
			}
		}
		if slices.Contains(wanted, name) || len(paths) == inside {
			columns = append(columns, name)
		}
	}
	return append(columns, paths...)
}

// Whole explains a path that leads to no column: it returns the part of the path that leads to a column other than a struct, because no path
// leads into such a column. It returns "" if the path leads to a column, or if there is no such part.
func (t Tree[N]) Whole(path string) string {
	if t.Find(path) != nil {
		return ""
	}
	return t.whole(path)
}

func (t Tree[N]) whole(path string) string {
	for _, n := range t {
		rest, ok := strings.CutPrefix(path, n.Name()+".")
		if !ok {
			continue
		}
		members, plain := n.Members()
		if !plain {
			return n.Name()
		}
		if found := Tree[N](members).whole(rest); found != "" {
			return n.Name() + "." + found
		}
	}
	return ""
}

// Find returns the columns on a path: the enclosing structs, and the named column last; nil if there is none. a.b is the field b of the struct a,
// unless a column itself has the name a.b.
func (t Tree[N]) Find(name string) []N {
	for _, n := range t {
		if n.Name() == name {
			return []N{n}
		}
	}
	for _, n := range t {
		rest, ok := strings.CutPrefix(name, n.Name()+".")
		if members, plain := n.Members(); ok && plain {
			if found := Tree[N](members).Find(rest); found != nil {
				return append([]N{n}, found...)
			}
		}
	}
	return nil
}
