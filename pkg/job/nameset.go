package job

import "slices"

// nameSet are names of columns, of which there may be many thousands.
type nameSet map[string]bool

func newNameSet(names []string) nameSet {
	s := make(nameSet, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

// add says whether a name is new.
func (s nameSet) add(name string) bool {
	if s[name] {
		return false
	}
	s[name] = true
	return true
}

// without is a list less what another has.
func without(list, drop []string) []string {
	dropped := newNameSet(drop)
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return dropped[s] })
}
