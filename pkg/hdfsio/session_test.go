package hdfsio

import (
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestIdleSessionsAreClosed checks that connections to the NameNode are closed although no other call is made: on each, the library makes a call
// per second.
func TestIdleSessionsAreClosed(t *testing.T) {
	h, f := newFakeHDFS(t)
	defer h.Close()
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for range 10 {
				if _, err := h.Stat(t.Context(), "/x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	testcheck.Eventually(t, time.Minute, "the end of the connections", func() (bool, any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.open == 0, f.open
	})
	if _, err := h.Stat(t.Context(), "/x"); err != nil {
		t.Error(err)
	}
}

// TestSessionsExpire checks that sessions are closed once they have been idle for long, the others are kept, and that nothing is left after Close.
func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHDFS(HDFSOptions{Addresses: []string{"127.0.0.1:1"}, User: "u"})
		testcheck.Must(t, err)
		var all []*session
		release := func() {
			s := &session{hdfs: h}
			all = append(all, s)
			h.release(s, func() bool { return true }, true)
		}
		alive := func(want ...bool) {
			t.Helper()
			synctest.Wait()
			idle := 0
			for i, s := range all {
				if s.alive() != want[i] {
					t.Errorf("session %d is alive: %t", i, s.alive())
				}
				if want[i] {
					idle++
				}
			}
			if h.mu.Lock(); len(h.free) != idle || (h.expiry != nil) != (idle > 0) {
				t.Errorf("%d sessions are idle, want %d", len(h.free), idle)
			}
			h.mu.Unlock()
		}
		release()
		<-time.After(idleSession / 2)
		release()
		alive(true, true)
		<-time.After(idleSession / 2)
		alive(false, true)
		<-time.After(idleSession / 2)
		alive(false, false)
		release()
		h.Rest()
		if h.mu.Lock(); h.expiry == nil {
			t.Error("the timer is lost")
		}
		h.mu.Unlock()
		<-time.After(idleSession)
		alive(false, false, false)
		release()
		testcheck.Must(t, h.Close())
		release()
		for i, s := range all {
			if s.alive() {
				t.Errorf("session %d is alive after Close", i)
			}
		}
		if _, _, err := h.acquire(t.Context()); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	})
}
