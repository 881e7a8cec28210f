package source

import (
	"testing"
	"time"
)

// TestAnyPartMakesAnotherFile: a file that differs in one of its parts alone is another one. On HDFS a file that was replaced by one of the
// same size and time differs in its id alone, and another file system can have the same id.
func TestAnyPartMakesAnotherFile(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	one := identity{device: 1, file: 2, size: 3, modified: at, changed: at}
	if what := one.differs(one); what != "" {
		t.Errorf("a file differs from itself: %s", what)
	}
	for part, change := range map[string]func(*identity){
		"device":       func(i *identity) { i.device++ },
		"file":         func(i *identity) { i.file++ },
		"size":         func(i *identity) { i.size++ },
		"modified":     func(i *identity) { i.modified = at.Add(time.Nanosecond) },
		"changed":      func(i *identity) { i.changed = at.Add(time.Nanosecond) },
		"changed back": func(i *identity) { i.changed = at.Add(-time.Nanosecond) },
	} {
		other := one
		change(&other)
		if one.differs(other) == "" || other.differs(one) == "" {
			t.Errorf("a file of another %s is taken for the same", part)
		}
	}
	first, second := &numbered{memFile{"x", []byte("a\n")}, 1, at}, &numbered{memFile{"x", []byte("b\n")}, 2, at}
	if identityOf(first).differs(identityOf(second)) == "" {
		t.Error("another file of HDFS of the same size and time is taken for the same")
	}
}
