package durable

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroupSharesSyncs checks that every caller of a Group gets a sync that begins after its call, with that sync's error, and that callers during a
// sync share the next one.
func TestGroupSharesSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		var count atomic.Int64
		full := errors.New("disk full")
		var wg sync.WaitGroup
		ask := func() {
			began := time.Now()
			err := g.sync("d", func(string) error {
				if time.Now().Before(began) {
					t.Error("a sync began before it was asked for")
				}
				n := count.Add(1)
				<-time.After(time.Second)
				if n == 2 {
					return full
				}
				return nil
			})
			if late := time.Since(began) > time.Second; late != errors.Is(err, full) {
				t.Errorf("an answer after %s: %v", time.Since(began), err)
			}
		}
		wg.Go(ask)
		<-time.After(time.Millisecond)
		for range 50 {
			wg.Go(ask)
		}
		wg.Wait()
		if n := count.Load(); n != 2 {
			t.Errorf("%d syncs for those that asked in two turns", n)
		}
		if err := g.sync("other", func(string) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupSyncsDirectories checks that a Group syncs a real directory for concurrent callers.
func TestGroupSyncsDirectories(t *testing.T) {
	var g Group
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := g.SyncDir(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := g.SyncDir(dir + "/none"); err == nil {
		t.Error("a directory that is not there was synced")
	}
}
