package share

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// listed is a file system that does something after each listing.
type listed struct {
	hdfsio.FS
	then func(n int)
	n    int
}

func (l *listed) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	entries, err := l.FS.ReadDir(ctx, name)
	l.n++
	l.then(l.n)
	return entries, err
}

// TestSharesAreSuperseded checks that shares are listed while an attempt supersedes another: the description that was listed is gone, and the
// one that counts was not there yet. A description that stays unreadable is an error.
func TestSharesAreSuperseded(t *testing.T) {
	dir := t.TempDir()
	local := directory{hdfsio.Local{}, dir, dir}
	p := &Plan{Checksum: "sha256:1"}
	attempt := func(file string) {
		s := &Share{Schema: 1, Plan: p.Checksum, Share: 1, Shares: 1, Chunks: file + ".chunks"}
		testcheck.Must(t, WriteSealed(t.Context(), local.fs, local.path(file+".json"), s, &s.Checksum))
	}
	const first, second = "share-00001-of-00001.1.AAAAAAAAAA", "share-00001-of-00001.2.BBBBBBBBBB"
	attempt(first)
	before, err := local.list(t.Context(), p)
	testcheck.Must(t, err)
	raced := local
	raced.fs = &listed{FS: local.fs, then: func(n int) {
		if n == 1 {
			attempt(second)
			testcheck.Must(t, local.supersede(t.Context(), before.of(1), progress.Events{}))
		}
	}}
	a, err := raced.list(t.Context(), p)
	if err != nil || len(a) != 1 || a.attempt(1) != 2 {
		t.Errorf("%d attempts, %v", len(a), err)
	}
	testcheck.Must(t, os.Symlink("nowhere", filepath.Join(dir, "share-00001-of-00001.3.CCCCCCCCCC.json")))
	if _, err := local.list(t.Context(), p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
}
