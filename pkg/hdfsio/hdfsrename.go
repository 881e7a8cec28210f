package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

var _ Renamer = (*HDFS)(nil)

// Rename implements [FS]. When the answer is lost, the inode number says whether the file has moved.
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
		err := h.once(ctx, func(c *hdfs.Client) error { return c.Rename(from, to) })
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

// exists says whether there is something of that name: of a file and a directory the NameNode says only that both must be one
// (FSDirRenameOp.validateOverwrite, Hadoop 3.4).
func (h *HDFS) exists(ctx context.Context, name string) bool {
	_, err := h.stat(ctx, "rename", name)
	return err == nil
}

// renamed says what an attempt has done whose answer was lost. An error is one that the rename must end with.
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

// neverOverwrite clears overwriteDest of a rename2, which the client library sets in each (version 2.4.0): the NameNode
// refuses a name that exists then, with FileAlreadyExistsException (FSDirRenameOp.validateOverwrite, Hadoop 3.4), and no one
// has to look before. p is one whole call.
func neverOverwrite(p []byte) []byte {
	const overwriteDest = 3 // of Rename2RequestProto
	var a heard
	messages := a.call(p, "rename2")
	if messages == nil {
		return p
	}
	// Of a field that comes twice the last counts.
	body := protowire.AppendTag(append([]byte{}, messages[2]...), overwriteDest, protowire.VarintType)
	return joinFrame(messages[0], messages[1], protowire.AppendVarint(body, 0))
}
