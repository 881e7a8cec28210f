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
	// askAgain is how often a DataNode that did not answer, and is left out of new blocks, is asked again.
	askAgain = 30 * time.Second
	// unreported is how long the NameNode may not have heard of a file's last block until its DataNodes are asked.
	unreported = 5 * time.Second
)

// avoidedNode is a DataNode that is left out of new blocks.
type avoidedNode struct {
	dfs.DataNode
	block dfs.Block // that it is asked about
	asked time.Time
}

// avoided returns the DataNodes to leave out now.
func (h *HDFS) avoided() (nodes []dfs.DataNode) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.avoid {
		nodes = append(nodes, n.DataNode)
	}
	return nodes
}

// takeBack asks DataNodes that are left out, and have not been asked for a while, whether they answer again. A new file
// begins with that, so a job does not continue for long with fewer copies than the cluster can make.
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

// avoidNone takes all DataNodes back and says whether there was one to take back.
func (h *HDFS) avoidNone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.avoid)
	clear(h.avoid)
	return n > 0
}

// diagnose determines what a failed write means for those to come: DataNodes of its block that do not answer are left out
// of the next blocks, and a NameNode that found no DataNode at all is asked for the room that there is.
func (w *hdfsWriter) diagnose(err error) error {
	if noDataNode(err) {
		if w.hdfs.avoidNone() {
			return err // those that were left out are the only ones: they have to do
		}
		return w.hdfs.checkSpace(w.ctx, w.file.BlockSize, err)
	}
	if !answered(err) {
		w.hdfs.leaveOut(w.ctx, w.given)
	}
	return err
}

// leaveOut has those DataNodes of a block left out of the next ones that do not answer.
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
		h.options.Log.Warn("datanode does not answer and is left out of new blocks", "datanode", n.Host, "error", answers[i])
	}
}

// lostBlock reports whether no DataNode of a file's last block answers, so that the NameNode will not hear of it.
func (h *HDFS) lostBlock(ctx context.Context, given dfs.Block) error {
	answers := h.dfs.Probe(ctx, given, given.Nodes)
	if slices.Contains(answers, nil) {
		return nil
	}
	return fmt.Errorf("no datanode that has the last block answers: %w", errors.Join(answers...))
}

// checkSpace makes ErrNoSpace of a refused block when there is no room for it.
func (h *HDFS) checkSpace(ctx context.Context, block int64, err error) error {
	var info hdfs.FsInfo
	e := h.once(ctx, func(c *hdfs.Client) (err error) {
		info, err = c.StatFs()
		return err
	})
	// With nothing at all the DataNodes are away, not full.
	if e != nil || info.Capacity == 0 && info.Used == 0 || info.Remaining >= uint64(block) {
		return err
	}
	return fmt.Errorf("%w: a block may take %d bytes, and of %d bytes on all DataNodes %d are free (remove files, empty the trash, or add DataNodes): %w",
		ErrNoSpace, block, info.Capacity, info.Remaining, err)
}

// denied adds to a refusal whose directories are concerned. The client library drops the NameNode's words.
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
	return &fs.PathError{Op: op, Path: names[0], Err: fmt.Errorf("%w: %s, and user %s may not", fs.ErrPermission, strings.Join(owners, ", "), h.options.User)}
}

// ownerFrom describes what has a name, or the nearest directory above it that can be seen.
func (h *HDFS) ownerFrom(ctx context.Context, name string) string {
	for dir := name; ; dir = path.Dir(dir) {
		info, err := h.statOnce(ctx, dir)
		if err == nil {
			user, group := Owner(info)
			return fmt.Sprintf("%s belongs to %s:%s with mode %s", dir, user, group, info.Mode())
		}
		if dir == "/" || ctx.Err() != nil || !answered(err) {
			return ""
		}
	}
}
