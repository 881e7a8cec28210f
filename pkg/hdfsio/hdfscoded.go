package hdfsio

import (
	"context"

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
