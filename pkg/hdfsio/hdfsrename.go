package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

var _ Renamer = (*HDFS)(nil)

// Rename implements [FS]. If the response is lost, the inode number shows whether the file has moved.
func (h *HDFS) Rename(ctx context.Context, from, to string) error {
	src, err := h.stat(ctx, "rename", from)
	if err != nil {
		return err
	}
	id, _ := src.FileID()
	return h.RenameFile(ctx, from, to, id)
}

// RenameFile implements [Renamer].
func (h *HDFS) RenameFile(ctx context.Context, from, to string, id uint64) error {
	from, err := cleanName("rename", from)
	if err != nil {
		return err
	}
	if to, err = cleanName("rename", to); err != nil {
		return err
	}
	started := time.Now()
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			done, err := h.renamed(ctx, from, to, id)
			if done || err != nil {
				return err
			}
		}
		err := h.dfs.Rename(ctx, from, to)
		if errors.Is(err, fs.ErrExist) || javaClass(err) == "java.io.IOException" && h.exists(ctx, to) {
			return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		if err == nil || !transient(err) {
			return h.denied(ctx, "rename", pathError("rename", from, err), from, to)
		}
		if err := h.pause(ctx, started, attempt, "rename", from, err); err != nil {
			return err
		}
	}
}

// exists reports whether the name exists: for a file and a directory the NameNode's message says only that both must be of one
// type (FSDirRenameOp.validateOverwrite, Hadoop 3.4).
func (h *HDFS) exists(ctx context.Context, name string) bool {
	_, err := h.stat(ctx, "rename", name)
	return err == nil
}

// renamed reports whether an attempt whose response was lost has renamed the file. If it returns an error, the rename must end
// with it.
func (h *HDFS) renamed(ctx context.Context, from, to string, id uint64) (done bool, err error) {
	dst, err := h.stat(ctx, "rename", to)
	if err == nil {
		if have, _ := dst.FileID(); have == id {
			return true, nil
		}
		return false, &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	now, err := h.stat(ctx, "rename", from)
	if err != nil {
		return false, err
	}
	if have, _ := now.FileID(); have != id {
		return false, &fs.PathError{Op: "rename", Path: from, Err: errors.New("replaced by another file while it was renamed")}
	}
	return false, nil
}
