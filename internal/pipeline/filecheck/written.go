package filecheck

import (
	"context"
	"fmt"

	"bulkload/internal/model/manifest"
)

// Written verifies a written file: it reads back length, trailer, index and file info.
func Written(ctx context.Context, fsys Opener, name string, want manifest.File) error {
	meta, err := ReadMeta(ctx, fsys, name)
	if err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	if meta.Cells != want.Cells || meta.Bytes != want.Bytes {
		return fmt.Errorf("read back %s: it has %d cells in %d bytes, want %d in %d", name, meta.Cells, meta.Bytes, want.Cells, want.Bytes)
	}
	return nil
}
