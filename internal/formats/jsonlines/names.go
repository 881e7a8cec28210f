package jsonlines

import "fmt"

// Kind is the kind of a member's value.
type Kind uint8

// Kinds of values.
const (
	Null Kind = 1 + iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind's name in JSON's words: null, bool, number, string, array, object.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Member is a member of a line, by a path that [Compile] takes.
type Member struct {
	Path string
	Kind Kind
}

// Bounds of Names, so that a hostile line cannot make paths that are together much longer than itself.
const (
	maxNames     = 16 << 10 // members
	maxNameDepth = 16       // objects within each other
	maxNamePath  = 1 << 10  // bytes of the path of an object that is looked into
)

// Names lists the members of a line that have no members themselves, in the order of the line: strings, numbers, bools,
// nulls and arrays, by paths through the objects that they are in. An object is listed itself, not its members, if it
// is empty, more than 16 objects deep, or its path longer than 1024 bytes. A fault of the line is an [*Error], without
// a known path; a name that stands twice is one in every object that is looked into. More than 16,384 members are an
// error. It allocates, and is not for every line of a file.
func Names(line []byte) ([]Member, error) {
	p := (&Plan{objects: []wantedObject{{}}}).NewParser()
	p.line++
	if at, f := p.parseLine(line); f != 0 {
		return nil, f.at(at, "")
	}
	var l lister
	if err := l.list(line, skipBlanks(line, 0), "", 1); err != nil {
		return nil, err
	}
	return l.members, nil
}

// A lister walks a line without faults.
type lister struct {
	members []Member
	next    int // the place after what was read last
}

var errManyNames = fmt.Errorf("JSON: more than %d members in one line", maxNames)

// list lists the members of the object at b[i].
func (l *lister) list(b []byte, i int, prefix string, depth int) error {
	seen := map[string]bool{}
	for i = skipBlanks(b, i+1); b[i] != '}'; {
		nameAt := i
		next, escaped, _ := scanString(b, i+1)
		name := b[i+1 : next-1]
		if escaped {
			name = appendUnescaped(nil, name)
		}
		if seen[string(name)] {
			return faultTwice.at(nameAt, "")
		}
		seen[string(name)] = true
		path := prefix + escape(string(name))
		i, _ = scanColon(b, next)
		if b[i] == '{' && b[skipBlanks(b, i+1)] != '}' && depth < maxNameDepth && len(path) <= maxNamePath {
			if err := l.list(b, i, path+".", depth+1); err != nil {
				return err
			}
		} else {
			if len(l.members) == maxNames {
				return errManyNames
			}
			l.members = append(l.members, Member{Path: path, Kind: kindOf(b[i])})
			l.next, _, _ = scanValue(b, i, 0)
		}
		if i = skipBlanks(b, l.next); b[i] == ',' {
			i = skipBlanks(b, i+1)
		}
	}
	l.next = i + 1
	return nil
}

// kindOf returns the kind of a value that begins with c.
func kindOf(c byte) Kind {
	switch c {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}
