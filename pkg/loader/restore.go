package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// Fields of Master.proto of HBase 2 that gohbase's messages lack. The master keeps the table's grants (restoreACL) and the snapshot's store
// file tracker (customSFT, since 2.5) unless a request asks otherwise, which no request here does.
const (
	restoreNonceGroup = 2 // RestoreSnapshotRequest.nonce_group
	restoreNonce      = 3 // .nonce
)

// SnapshotInfo is the master's description of a complete snapshot.
type SnapshotInfo struct {
	Name    string
	Table   TableName
	Created int64  // creation time, milliseconds
	Owner   string // short name of the user who took it; empty if the cluster does not control access
}

// FindSnapshot looks for a complete snapshot. ok is false if there is no snapshot of that name, or none that the user may see.
func (c *Cluster) FindSnapshot(ctx context.Context, name string) (info SnapshotInfo, ok bool, err error) {
	resp := &pb.GetCompletedSnapshotsResponse{}
	if err := c.master(ctx, "GetCompletedSnapshots", &pb.GetCompletedSnapshotsRequest{}, resp); err != nil {
		return info, false, fmt.Errorf("list snapshots: %w", err)
	}
	for _, s := range resp.GetSnapshots() {
		table, err := ParseTableName(s.GetTable())
		if err == nil && s.GetName() == name {
			return SnapshotInfo{Name: name, Table: table, Created: s.GetCreationTime(), Owner: s.GetOwner()}, true, nil
		}
	}
	return info, false, nil
}

// NewNonce returns an identifier for a call with effects that other processes repeat.
func NewNonce() uint64 { return rand.Uint64() | 1 }

// RestoreSnapshot restores a table's data and descriptor from a snapshot, and waits until the master has done it, at most
// [Config.ProcedureTimeout]. A table that exists must be disabled, and stays disabled; one that does not exist is created and enabled. The
// master runs the request of one nonce once, whichever process repeats it, and a repetition waits for it (RestoreSnapshotProcedure,
// CloneSnapshotProcedure). It forgets nonces minutes after the end; restoring the snapshot again does no harm while the table is disabled.
func (c *Cluster) RestoreSnapshot(ctx context.Context, snapshot string, table TableName, nonce uint64) error {
	s := &pb.SnapshotDescription{Name: &snapshot, Table: proto.String(table.String())}
	req := &pb.RestoreSnapshotRequest{Snapshot: s}
	req.ProtoReflect().SetUnknown(frames.AppendNumber(frames.AppendNumber(nil, restoreNonceGroup, nonce), restoreNonce, nonce))
	err := c.masterDoes(ctx, "RestoreSnapshot", req, &pb.RestoreSnapshotResponse{})
	c.regions.put(table, nil)
	if hbaserpc.Threw(err, "SnapshotDoesNotExistException") {
		err = ErrNoSnapshot
	}
	if err != nil {
		return fmt.Errorf("restore snapshot %s into table %s: %w", snapshot, table, c.denied(err, "ADMIN", "A", table.String()))
	}
	return nil
}

// ErrNoSnapshot is the error of a snapshot that does not exist.
var ErrNoSnapshot = errors.New("the snapshot does not exist")

// Refused reports whether HBase has answered a call and did nothing: no answer was lost.
func Refused(err error) bool {
	_, answered := errors.AsType[*RemoteError](err)
	_, denied := errors.AsType[*DeniedError](err)
	return answered || denied || errors.Is(err, ErrNoSnapshot)
}

// MayRestore returns a [DeniedError] if the user may not have the master restore a snapshot into a table: the owner of the snapshot needs the right
// ADMIN on the table, or, if the table is to be created, on its namespace; others need it everywhere (AccessController.preRestoreSnapshot and
// preCloneSnapshot of HBase 2.6.4).
func (c *Cluster) MayRestore(ctx context.Context, s SnapshotInfo, table TableName, exists bool) error {
	switch {
	case s.Owner != "" && s.Owner != c.cfg.Owner:
		return c.lacks(ctx, Admin, place{})
	case !exists:
		return c.lacks(ctx, Admin, place{namespace: table.Namespace})
	}
	return c.Lacks(ctx, table, Admin)
}
