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

// String returns the kind's name: null, bool, number, string, array or object.
func (k Kind) String() string {
	if names := [...]string{Null: "null", Bool: "bool", Number: "number", String: "string", Array: "array", Object: "object"}; k > 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Member is a member of a line, with a path that [Compile] accepts.
type Member struct {
	Path string
	Kind Kind
}

// Limits of Names, so that the paths of a hostile line are not much longer in total than the line.
const (
	maxNames     = 16 << 10 // members
	maxNameDepth = 16       // nested objects
	maxNamePath  = 1 << 10  // bytes of the path of an object whose members are listed
)

// Names lists the members of a line that are not objects, in the order of the line: strings, numbers, bools, nulls and
// arrays, with their paths through the surrounding objects. It lists an object instead of its members if the object is
// empty, is nested in more than 16 objects, or has a path of more than 1024 bytes. A fault of the line is an [*Error]
// without a path; so is a name that occurs twice in an object whose members are listed. More than 16,384 members are an
// error. Names allocates memory, and is not intended for every line of a file.
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

// A lister lists the members of a line that has no faults.
type lister struct {
	members []Member
	next    int // the position after the last value
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
