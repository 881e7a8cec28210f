package listing

import (
	"testing"
	"time"
)

// TestAnyPartMakesAnotherFile checks that a file that differs in any single part of its identity is another file. A file on HDFS that was replaced by
// one of the same size and time differs only in its id, and a file of another file system can have the same id.
func TestAnyPartMakesAnotherFile(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	one := Identity{device: 1, File: 2, Size: 3, Modified: at, Changed: at}
	if what := one.differs(one); what != "" {
		t.Errorf("a file differs from itself: %s", what)
	}
	for part, change := range map[string]func(*Identity){
		"device":       func(i *Identity) { i.device++ },
		"file":         func(i *Identity) { i.File++ },
		"size":         func(i *Identity) { i.Size++ },
		"modified":     func(i *Identity) { i.Modified = at.Add(time.Nanosecond) },
		"changed":      func(i *Identity) { i.Changed = at.Add(time.Nanosecond) },
		"changed back": func(i *Identity) { i.Changed = at.Add(-time.Nanosecond) },
	} {
		other := one
		change(&other)
		if one.differs(other) == "" || other.differs(one) == "" {
			t.Errorf("a file of another %s is taken for the same", part)
		}
	}
	first, second := &numbered{size: 2, id: 1, at: at}, &numbered{size: 2, id: 2, at: at}
	if IdentityOf(first).differs(IdentityOf(second)) == "" {
		t.Error("another file of HDFS of the same size and time is taken for the same")
	}
}
