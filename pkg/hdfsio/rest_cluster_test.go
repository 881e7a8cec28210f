package hdfsio

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestHDFSRest closes connections in the middle of a file. No connection is
// open then, and reading continues at its position.
func TestHDFSRest(t *testing.T) {
	direct, dir := clusterFS(t, "tina")
	h, relay := relayed(t, direct)
	content := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	w, err := h.Create(t.Context(), dir+"/f", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	h.Rest()
	f, err := h.Open(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	at := f.(io.ReaderAt)
	got := make([]byte, 0, len(content))
	for len(got) < len(content) {
		piece := make([]byte, min(1<<20, len(content)-len(got)))
		if _, err := at.ReadAt(piece, int64(len(got))); err != nil {
			t.Fatal(err)
		}
		got = append(got, piece...)
		if open, _ := relay.count(); open == 0 && len(got) < len(content) {
			t.Fatal("a file that is read has no connection")
		}
		h.Rest()
		testcheck.Eventually(t, time.Minute, "the end of the connections", func() (bool, any) {
			open, _ := relay.count()
			return open == 0, open
		})
		if len(h.free) > 0 || h.dfs.Idle() > 0 {
			t.Fatalf("at byte %d: %d sessions and %d connections are idle", len(got), len(h.free), h.dfs.Idle())
		}
	}
	if !bytes.Equal(got, content) {
		t.Error("the file reads otherwise than it was written")
	}
	// Concurrent calls during reads must not disturb them.
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			piece := make([]byte, 100_000)
			for off := 0; off+len(piece) <= len(content); off += len(piece) {
				if _, err := at.ReadAt(piece, int64(off)); err != nil || !bytes.Equal(piece, content[off:off+len(piece)]) {
					t.Errorf("at byte %d: %v, or other bytes", off, err)
					return
				}
			}
		})
	}
	go func() {
		readers.Wait()
		close(done)
	}()
	for rests := 0; ; rests++ {
		select {
		case <-done:
			t.Logf("gave back %d times", rests)
		default:
			h.Rest()
			continue
		}
		break
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if len(h.open) > 0 {
		t.Errorf("%d files count as open", len(h.open))
	}
}
