package hdfsio

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"syscall"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

// checkTarget refuses directories in which this client cannot write right: it knows neither encryption zones (its bytes
// would be stored plain, or refused) nor erasure coding.
func (h *HDFS) checkTarget(ctx context.Context, name string) error {
	dir := path.Dir(name)
	h.mu.Lock()
	seen := h.plain[dir]
	h.mu.Unlock()
	if time.Since(seen) < plainFor {
		return nil
	}
	info, err := h.stat(ctx, "create", dir)
	if err != nil {
		return err
	}
	status, ok := info.Sys().(*hdfs.FileStatus)
	switch {
	case !info.IsDir():
		return &fs.PathError{Op: "create", Path: name, Err: syscall.ENOTDIR}
	case ok && status.GetFileEncryptionInfo() != nil:
		return fmt.Errorf("create %s: %s lies in an HDFS encryption zone, which is not supported: write outside of it", name, dir)
	case ok && status.GetEcPolicy() != nil:
		return fmt.Errorf("create %s: %s is erasure coded (%s), which is not supported: choose a replicated directory",
			name, dir, status.GetEcPolicy().GetName())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.plain, func(_ string, at time.Time) bool { return time.Since(at) >= plainFor })
	if h.plain == nil {
		h.plain = map[string]time.Time{}
	}
	h.plain[dir] = time.Now()
	return nil
}

// plainFor is how long what was seen of a directory counts: many small files are written into one.
const plainFor = time.Second
