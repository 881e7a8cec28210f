package testcluster

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const temporaryPrefix = "bulkload-testcluster-"

// temporaryDir creates a directory for a cluster of this process. A lock file in it, held until unlock or the end of
// this process, marks it as in use. Directories of dead owners are removed first.
func temporaryDir(ctx context.Context, log *slog.Logger) (dir string, unlock func(), err error) {
	prefix := temporaryPrefix + strconv.Itoa(os.Getuid()) + "-"
	// One process at a time creates or removes directories, so that no other process finds a directory whose lock is
	// not held yet.
	done, err := lockFile(ctx, filepath.Join(os.TempDir(), prefix+"lock"))
	if err != nil {
		return "", nil, err
	}
	defer done()
	old, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"[0-9]*"))
	if err != nil {
		return "", nil, err
	}
	for _, stale := range old {
		removeStale(ctx, stale, log)
	}
	dir, err = os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	unlock, err = lockFile(ctx, filepath.Join(dir, "owner.lock"))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, unlock, nil
}

// removeStale removes a directory whose owner is dead. The kernel has killed its daemons; any that it may have missed
// are killed by their recorded identities.
func removeStale(ctx context.Context, dir string, log *slog.Logger) {
	free, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	unlock, err := lockFile(free, filepath.Join(dir, "owner.lock"))
	if err != nil {
		return // In use, or another user's.
	}
	defer unlock()
	if s, err := readState(dir); err == nil {
		if err := s.end(ctx); err != nil {
			log.WarnContext(ctx, "a dead test's daemons are left", "dir", dir, "error", err)
			return
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		log.WarnContext(ctx, "a dead test's directory is left", "dir", dir, "error", err)
	}
}
