package jsonlines

import (
	"bytes"
	"hash/maphash"
)

// maxMembers is the largest number of members, in one line, of an object that paths lead into. Each takes about 100 bytes of memory.
const maxMembers = 64 << 10

// The largest number, and size in bytes, of unwanted names that an object remembers from line to line. If there are
// more, as in maps whose names are data, the object drops all of them before the next line. Within a line, it keeps
// all names.
const (
	maxLearned      = 1024
	maxLearnedBytes = 64 << 10
)

// An object is a parser's knowledge of an object that paths lead into: its members, those that are wanted and those that
// were found, and their order. Lines of one writer mostly have the same names in the same order, so the parser first
// compares a name with that of the member that followed the previous one when this last occurred, and rarely needs a
// search.
type object struct {
	members []member // the plan's members first
	wanted  int      // the number of the plan's members
	first   int32    // the first member of the last line; -1 before the first line
	table   []int32  // open addressing: indexes in members plus 1; its size is a power of two, at most half of it is used
	names   []byte   // memory of the names of learned members
	seed    maphash.Seed
}

// A member is a name that is wanted, or was found in an object.
type member struct {
	name   []byte
	quoted []byte // the name in quotes, as in a line; nil if it has escaped characters
	path   string // "" for an unwanted member
	field  int32  // -1: not wanted
	child  int32  // -1: no path leads into it
	next   int32  // the member that followed it when it last occurred; -1: none yet
	line   uint64 // number of the last line that had it
}

func newObject(w wantedObject) *object {
	o := &object{wanted: len(w.members), first: -1, seed: maphash.MakeSeed()}
	for _, m := range w.members {
		quoted := []byte(`"` + m.name + `"`)
		o.members = append(o.members, member{
			name: quoted[1 : len(quoted)-1], path: m.path,
			field: int32(m.field), child: int32(m.child), next: -1,
		})
		if _, escaped, f := scanString(quoted, 1); f == 0 && !escaped && !bytes.Contains(quoted[1:len(quoted)-1], []byte{'"'}) {
			o.members[len(o.members)-1].quoted = quoted
		}
	}
	o.grow()
	return o
}

// begin prepares for the members of one line: it drops the unwanted names if there are too many.
func (o *object) begin() {
	if len(o.members)-o.wanted <= maxLearned && len(o.names) <= maxLearnedBytes {
		return
	}
	clear(o.members[o.wanted:])
	o.members = o.members[:o.wanted]
	o.names = o.names[:0]
	for i := range o.members {
		o.members[i].next = -1
	}
	o.first = -1
	clear(o.table)
	o.fill()
}

// find returns the index of a name in members, or -1.
func (o *object) find(name []byte) int32 {
	mask := len(o.table) - 1
	for at := int(maphash.Bytes(o.seed, name)) & mask; ; at = (at + 1) & mask {
		i := o.table[at] - 1
		if i < 0 || bytes.Equal(o.members[i].name, name) {
			return i
		}
	}
}

// learn adds a name that is not in members. plain means that it has no escapes in the line.
func (o *object) learn(name []byte, plain bool) int32 {
	n := len(o.names)
	o.names = append(append(append(o.names, '"'), name...), '"')
	quoted := o.names[n:len(o.names):len(o.names)]
	m := member{name: quoted[1 : len(quoted)-1], field: -1, child: -1, next: -1}
	if plain {
		m.quoted = quoted
	}
	o.members = append(o.members, m)
	i := int32(len(o.members) - 1)
	if 2*len(o.members) > len(o.table) {
		o.grow()
	} else {
		o.put(i)
	}
	return i
}

// grow makes a table with room for at least twice the members.
func (o *object) grow() {
	size := 16
	for size < 4*len(o.members) {
		size *= 2
	}
	o.table = make([]int32, size)
	o.fill()
}

// fill puts all members into the empty table.
func (o *object) fill() {
	for i := range o.members {
		o.put(int32(i))
	}
}

func (o *object) put(i int32) {
	mask := len(o.table) - 1
	at := int(maphash.Bytes(o.seed, o.members[i].name)) & mask
	for o.table[at] != 0 {
		at = (at + 1) & mask
	}
	o.table[at] = i + 1
}

// at reports whether the rest of a line begins with the name of member i.
func (o *object) at(i int32, b []byte) bool {
	if i < 0 {
		return false
	}
	q := o.members[i].quoted
	return len(q) > 1 && len(b) >= len(q) && b[1] == q[1] && b[len(q)-1] == '"' && string(b[:len(q)]) == string(q)
}
