package hdfsio

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"syscall"
	"time"

	"bulkload/internal/hadoop/dfs"
)

// blocks reads the bytes of a file from its blocks.
type blocks interface {
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	Close()
}

// reader returns a reader of a striped or replicated file. It does not connect.
func (h *HDFS) reader(name string, info hdfsInfo) blocks {
	id, _ := info.FileID()
	if p, coded := info.coding(); coded {
		return h.dfs.OpenStriped(name, id, info.Size(), p)
	}
	return h.dfs.Open(name, id, info.Size())
}

// coding returns the erasure coding policy of a file, or the policy of new files in a directory.
func (i hdfsInfo) coding() (p dfs.Policy, coded bool) {
	policy := i.status().GetEcPolicy()
	if policy == nil {
		return p, false
	}
	const replication = 0 // the number of the policy that gives a directory below a coded one replicated files
	schema := policy.GetSchema()
	p = dfs.PolicyOf(policy.GetId(), dfs.Policy{Name: policy.GetName(), Codec: schema.GetCodecName(),
		Data: int(schema.GetDataUnits()), Parity: int(schema.GetParityUnits()), Cell: int64(policy.GetCellSize())})
	return p, policy.GetId() != replication
}

// FeatureError refuses a file or a directory that uses an HDFS feature that this client does not support. The client writes no erasure
// coded files, and reads those of the codecs rs and xor.
type FeatureError struct {
	Op, Path string
	Feature  string // such as "erasure coded (RS-LEGACY-6-3-1024k)"
	Advice   string
}

func (e *FeatureError) Error() string {
	return fmt.Sprintf("%s %s: it is %s, which is not supported: %s", e.Op, e.Path, e.Feature, e.Advice)
}

// supported returns a [FeatureError] for op on name if i describes a file, or the parent directory of a new file, that this
// client cannot read or write correctly: one with a policy of erasure coding that it does not read, or a directory whose new files are
// erasure coded.
func (i hdfsInfo) supported(op, name string) error {
	p, coded := i.coding()
	advice := "copy it to a replicated directory (hdfs dfs -cp)"
	switch {
	case !coded, !i.IsDir() && p.Supported():
		return nil
	case i.IsDir():
		advice = "give it replicas by hdfs ec -setPolicy -replicate -path " + path.Dir(name)
	}
	return &FeatureError{op, name, "erasure coded (" + p.Name + ")", advice}
}

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
