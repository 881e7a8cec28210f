package hdfsio

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"syscall"
	"time"
)

// checkTarget refuses directories with an erasure coding policy, see [FeatureError].
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
	if !info.IsDir() {
		return &fs.PathError{Op: "create", Path: name, Err: syscall.ENOTDIR}
	}
	if err := info.supported("create", name); err != nil {
		return err
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

// plainFor is how long the check of a directory stays valid: many small files are written to one.
const plainFor = time.Second
