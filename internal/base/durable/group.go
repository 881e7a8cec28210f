package durable

import "sync"

// A Group makes the names in directories durable for several goroutines at a time: goroutines that call it while a directory is being
// synced share the next sync of it, which begins after all of these calls. The zero value is ready for use.
type Group struct {
	mu   sync.Mutex
	dirs map[string]*groupDir
}

// groupDir is a directory that was synced.
type groupDir struct {
	syncing chan struct{} // holds an element during a sync
	next    *groupSync    // the next sync, which has not begun; nil: not requested. Group.mu guards it.
}

// groupSync is one sync of a directory.
type groupSync struct {
	done chan struct{}
	err  error // read after done is closed
}

// SyncDir is like the function [SyncDir]: when it returns nil, the names that the directory had when it was called are durable.
func (g *Group) SyncDir(dir string) error { return g.sync(dir, SyncDir) }

func (g *Group) sync(dir string, sync func(dir string) error) error {
	g.mu.Lock()
	if g.dirs == nil {
		g.dirs = map[string]*groupDir{}
	}
	d := g.dirs[dir]
	if d == nil {
		d = &groupDir{syncing: make(chan struct{}, 1)}
		g.dirs[dir] = d
	}
	s, first := d.next, d.next == nil
	if first {
		s = &groupSync{done: make(chan struct{})}
		d.next = s
	}
	g.mu.Unlock()
	if !first {
		<-s.done
		return s.err
	}
	d.syncing <- struct{}{}
	defer func() { <-d.syncing }()
	g.mu.Lock()
	d.next = nil // a later request needs another sync
	g.mu.Unlock()
	defer close(s.done)
	s.err = sync(dir)
	return s.err
}
