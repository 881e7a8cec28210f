package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/hadoop/dfs"

	"github.com/colinmarc/hdfs/v2"
)

const (
	// askAgain is the interval at which an excluded DataNode that did not answer is probed again.
	askAgain = 30 * time.Second
	// unreported is how long a file's last block may be unreported to the NameNode before its DataNodes are probed.
	unreported = 5 * time.Second
)

// avoidedNode is a DataNode that is excluded from new blocks.
type avoidedNode struct {
	dfs.DataNode
	block dfs.Block // used to probe it
	asked time.Time
}

// avoided returns the DataNodes that are excluded now.
func (h *HDFS) avoided() (nodes []dfs.DataNode) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.avoid {
		nodes = append(nodes, n.DataNode)
	}
	return nodes
}

// takeBack probes excluded DataNodes that have not been probed for a while, and readmits those that answer. Each new
// file begins with it, so a job does not run for long with fewer replicas than the cluster can make.
func (h *HDFS) takeBack(ctx context.Context) {
	h.mu.Lock()
	var due []dfs.DataNode
	var block dfs.Block
	for uuid, n := range h.avoid {
		if time.Since(n.asked) > askAgain {
			n.asked = time.Now()
			h.avoid[uuid] = n
			due, block = append(due, n.DataNode), n.block
		}
	}
	h.mu.Unlock()
	answers := h.dfs.Probe(ctx, block, due)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, n := range due {
		if answers[i] == nil {
			delete(h.avoid, n.UUID)
		}
	}
}

// avoidNone readmits all DataNodes and reports whether any was excluded.
func (h *HDFS) avoidNone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.avoid)
	clear(h.avoid)
	return n > 0
}

// diagnose determines the consequences of a failed write for later ones: it excludes DataNodes of the block that do not
// answer from the next blocks, and if the NameNode found no DataNode at all, it queries the free space.
func (w *hdfsWriter) diagnose(err error) error {
	// BlockManager.chooseTarget4NewBlock of Hadoop 3 throws no specific class for this.
	if javaClass(err) == "java.io.IOException" && strings.Contains(err.Error(), "could only be written to") {
		if w.h.avoidNone() {
			return err // the excluded DataNodes are the only ones: they must be used
		}
		return w.h.checkSpace(w.ctx, w.file.BlockSize, err)
	}
	if !answered(err) {
		w.h.leaveOut(w.ctx, w.given)
	}
	return err
}

// leaveOut excludes those DataNodes of a block that do not answer from the next blocks.
func (h *HDFS) leaveOut(ctx context.Context, given dfs.Block) {
	answers := h.dfs.Probe(ctx, given, given.Nodes)
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, n := range given.Nodes {
		if answers[i] == nil {
			continue
		}
		if h.avoid == nil {
			h.avoid = map[string]avoidedNode{}
		}
		h.avoid[n.UUID] = avoidedNode{n, given, time.Now()}
		h.o.Log.Warn("datanode does not answer and is left out of new blocks", "datanode", n.Host, "error", answers[i])
	}
}

// lostBlock returns an error if no DataNode of a file's last block answers, so that none will report it to the NameNode.
func (h *HDFS) lostBlock(ctx context.Context, given dfs.Block) error {
	answers := h.dfs.Probe(ctx, given, given.Nodes)
	if slices.Contains(answers, nil) {
		return nil
	}
	return fmt.Errorf("no datanode that has the last block answers: %w", errors.Join(answers...))
}

// checkSpace returns an ErrNoSpace for a refused block if there is no room for it, otherwise err.
func (h *HDFS) checkSpace(ctx context.Context, block int64, err error) error {
	var info hdfs.FsInfo
	e := h.once(ctx, func(c *hdfs.Client) (err error) {
		info, err = c.StatFs()
		return err
	})
	// If there is no capacity at all, the DataNodes are down, not full.
	if e != nil || info.Capacity == 0 && info.Used == 0 || info.Remaining >= uint64(block) {
		return err
	}
	return fmt.Errorf("%w: a block may take %d bytes, and of %d bytes on all DataNodes %d are free (remove files, empty the trash, or add DataNodes): %w",
		ErrNoSpace, block, info.Capacity, info.Remaining, err)
}

// denied adds the owners of the directories to a permission error. The client library drops the NameNode's message.
func (h *HDFS) denied(ctx context.Context, op string, err error, names ...string) error {
	if !errors.Is(err, fs.ErrPermission) || op == "stat" {
		return err
	}
	var owners []string
	for _, name := range names {
		nearest := path.Dir(name)
		if op == "open" || op == "readdir" || op == "chmod" { // these need a right on what is named
			nearest = name
		}
		if text := h.ownerFrom(ctx, nearest); text != "" && !slices.Contains(owners, text) {
			owners = append(owners, text)
		}
	}
	if len(owners) == 0 {
		return err
	}
	return &fs.PathError{Op: op, Path: names[0], Err: fmt.Errorf("%w: %s, and user %s may not", fs.ErrPermission, strings.Join(owners, ", "), h.o.User)}
}

// ownerAbove describes the nearest visible directory above a name.
func (h *HDFS) ownerAbove(ctx context.Context, name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		var info hdfsInfo
		e := h.once(ctx, func(c *hdfs.Client) error {
			fi, err := c.Stat(dir)
			if err == nil {
				info = newHDFSInfo(fi)
			}
			return err
		})
		if e == nil {
			user, group := Owner(info)
			return fmt.Sprintf("%s belongs to %s:%s with mode %s", dir, user, group, info.Mode())
		}
		if dir == "/" || ctx.Err() != nil || !answered(e) {
			return ""
		}
	}
}
