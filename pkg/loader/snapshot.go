package loader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// ErrSnapshotExists is a snapshot whose name is taken.
var ErrSnapshotExists = errors.New("snapshot exists already")

// snapshotPause is between two questions whether a snapshot is done.
const snapshotPause = 200 * time.Millisecond

// Snapshot takes a snapshot of a table, flushed first, and waits until it is complete, at most [Config.ProcedureTimeout].
func (c *Cluster) Snapshot(ctx context.Context, table TableName, name string) error {
	s := &pb.SnapshotDescription{Name: &name, Table: proto.String(table.String()), Type: pb.SnapshotDescription_FLUSH.Enum()}
	err := c.master(ctx, "Snapshot", &pb.SnapshotRequest{Snapshot: s}, &pb.SnapshotResponse{})
	if isJava(err, "SnapshotExistsException") {
		err = ErrSnapshotExists
	}
	if err != nil {
		return fmt.Errorf("snapshot %s of table %s: %w", name, table, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ProcedureTimeout, fmt.Errorf("not complete within %s", c.cfg.ProcedureTimeout))
	defer cancel()
	for {
		resp := &pb.IsSnapshotDoneResponse{}
		if err := c.master(ctx, "IsSnapshotDone", &pb.IsSnapshotDoneRequest{Snapshot: s}, resp); err != nil {
			return fmt.Errorf("snapshot %s of table %s: %w", name, table, err)
		}
		if resp.GetDone() {
			return nil
		}
		if err := sleep(ctx, snapshotPause); err != nil {
			return fmt.Errorf("snapshot %s of table %s: %w", name, table, err)
		}
	}
}
