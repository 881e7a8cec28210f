package loader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// ErrSnapshotExists is the error of a snapshot whose name is in use, for this table or another.
var ErrSnapshotExists = errors.New("snapshot exists already")

// ErrNoSnapshots is the error of a snapshot where HBase takes none.
var ErrNoSnapshots = errors.New("HBase takes no snapshots here")

// ErrSnapshotLinks is the error of a snapshot that HBase cannot take: it takes a link to a file, TABLE=REGION-FILE, for a reference, FILE.REGION.
var ErrSnapshotLinks = errors.New("HBase takes links to files of a table whose name begins with hex digits and a dot for references: major_compact the table and repeat")

// likeReference is how the name of a reference begins, and that of a link that HBase takes for one (REF_NAME_PATTERN and isReference of
// StoreFileInfo, 2.6.4).
const likeReference = `[0-9a-f]+(?:_SeqId_[0-9]+_|_del)?\.`

var (
	nameLikeReference = regexp.MustCompile(`^` + likeReference)
	// linksTaken matches what HBase says of such a link (SnapshotReferenceUtil.verifyStoreFile, 2.6.4).
	linksTaken = regexp.MustCompile(`is not a valid HFileLink pattern|Missing parent hfile for: ` + likeReference + `[^ /]*=`)
	// withoutCause matches what HBase 2.5 says of any snapshot that has failed (SnapshotManager.isSnapshotDone, 2.5.13).
	withoutCause = regexp.MustCompile(` had an error\.  (?:Procedure .* \{ waiting=|\S+ not found in proclist)`)
)

// LinksAsReferences reports whether HBase takes links to the table's files, TABLE=REGION-FILE, for references, FILE.REGION: the table's name begins
// with hex digits and a dot. Links to tables outside the namespace default begin with the namespace and an equals sign. HBase opens such a link,
// for which StoreFileInfo looks first. It takes no snapshot that has one (SnapshotReferenceUtil.verifyStoreFile), and does not open a reference to
// one, which a region has that was split or merged (StoreFileInfo.getReferredToFile).
func (t TableName) LinksAsReferences() bool {
	return t.Namespace == "default" && nameLikeReference.MatchString(t.Qualifier)
}

// snapshotPause is the pause between two queries whether a snapshot is complete.
const snapshotPause = 200 * time.Millisecond

// Fields of Master.proto of HBase 2.6 that gohbase's messages lack.
const (
	snapshotNonceGroup = 2 // SnapshotRequest.nonce_group
	snapshotNonce      = 3 // .nonce
	snapshotProcedure  = 2 // SnapshotResponse.proc_id
	snapshotTTL        = 8 // SnapshotDescription.ttl
)

// snapshotForever is the lifetime, in seconds, of a snapshot that never expires, whatever hbase.master.snapshot.ttl says: with 0 and above it the
// master takes the site's, and below it the snapshot expires (SnapshotDescriptionUtils, 2.4 to 3.0).
const snapshotForever = math.MaxInt64 / 1000

// Snapshot flushes a table, takes a snapshot of it, and waits until it is complete, at most [Config.ProcedureTimeout]. created is the
// creation time, in milliseconds, by which [Cluster.SnapshotTime] distinguishes it from another of that name; 0: the master's clock.
//
// A read-only table is not flushed: its regions refuse that, a master from 2.6 on tries it again for ever, and they were flushed when the table became
// read-only, since they closed then.
//
// The snapshot has no lifetime: it stays until it is deleted, also where hbase.master.snapshot.ttl gives others one.
//
// The request carries a nonce. A master from 2.6 on then takes the snapshot by a procedure, which continues when a region
// moves or a server dies; without one, as older masters always, it asks the servers through ZooKeeper, and an answer that
// it misses is waited for until the snapshot is given up (MasterRpcServices.snapshot of HBase 2.6.4).
func (c *Cluster) Snapshot(ctx context.Context, table TableName, name string, created int64) error {
	s := &pb.SnapshotDescription{Name: &name, Table: proto.String(table.String()), Type: pb.SnapshotDescription_FLUSH.Enum()}
	if created != 0 {
		s.CreationTime = &created // the master keeps it (SnapshotDescriptionUtils.validate, 2.6)
	}
	s.ProtoReflect().SetUnknown(frames.AppendNumber(nil, snapshotTTL, snapshotForever))
	schema, err := c.descriptor(ctx, table) // after another error the request says more
	switch {
	case errors.Is(err, ErrTableNotFound): // a master with access control aborts when it is asked then (AccessController.preSnapshot, 2.6.4)
		return fmt.Errorf("snapshot %s of table %s: %w", name, table, err)
	case err == nil:
		if t, err := parseTable(table, schema); err == nil && t.ReadOnly {
			s.Type = pb.SnapshotDescription_SKIPFLUSH.Enum()
		}
	}
	resp, err := c.requestSnapshot(ctx, s)
	if id, ok := varintField(resp.ProtoReflect().GetUnknown(), snapshotProcedure); err == nil && ok {
		err = c.procedure(ctx, id)
	} else if err == nil {
		err = c.snapshotEnd(ctx, s)
	}
	switch {
	case hbaserpc.Threw(err, "SnapshotExistsException"):
		err = ErrSnapshotExists
	case snapshotRefused(err, "doesn't exist, can't take snapshot"): // SnapshotManager.takeSnapshotInternal, 2.6
		return fmt.Errorf("table %s: %w", table, ErrTableNotFound)
	}
	switch e, ok := errors.AsType[*RemoteError](err); {
	case ok && (linksTaken.MatchString(e.Message) || table.LinksAsReferences() && withoutCause.MatchString(e.Message)):
		err = fmt.Errorf("%w: %w", ErrSnapshotLinks, err)
	case hbaserpc.SnapshotsOff(err):
		err = fmt.Errorf("%w: %w", ErrNoSnapshots, err)
	}
	if err != nil {
		return fmt.Errorf("snapshot %s of table %s: %w", name, table, c.denied(err, "ADMIN", "A", table.String()))
	}
	return nil
}

// requestSnapshot has the master begin. It repeats the request while the master takes another snapshot of the table or of that name, such
// as that of an attempt that was stopped: SnapshotUnderWay may not see one that a procedure takes (seen on HBase 2.6.4).
func (c *Cluster) requestSnapshot(ctx context.Context, s *pb.SnapshotDescription) (*pb.SnapshotResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ProcedureTimeout, fmt.Errorf("another one was being taken for %s", c.cfg.ProcedureTimeout))
	defer cancel()
	for {
		req, resp := &pb.SnapshotRequest{Snapshot: s}, &pb.SnapshotResponse{}
		req.ProtoReflect().SetUnknown(frames.AppendNumber(frames.AppendNumber(nil, snapshotNonceGroup, *nonce()), snapshotNonce, *nonce()))
		err := c.master(ctx, "Snapshot", req, resp)
		if !snapshotRefused(err, "already running another snapshot") {
			return resp, err
		}
		if err := retry.Sleep(ctx, snapshotPause); err != nil {
			return resp, err
		}
	}
}

// snapshotRefused reports whether the master refuses a snapshot with a text.
func snapshotRefused(err error, text string) bool {
	e, ok := errors.AsType[*RemoteError](err)
	return ok && hbaserpc.Threw(e, "SnapshotCreationException") && strings.Contains(e.Message, text)
}

// SnapshotUnderWay waits until no request is taking a snapshot of the name any more. The next call of [Cluster.Snapshot] shows whether one
// exists then.
func (c *Cluster) SnapshotUnderWay(ctx context.Context, table TableName, name string) error {
	s := &pb.SnapshotDescription{Name: &name, Table: proto.String(table.String())}
	err := c.snapshotEnd(ctx, s)
	if hbaserpc.Threw(err, "UnknownSnapshotException") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot %s of table %s, begun earlier: %w", name, table, err)
	}
	return nil
}

// SnapshotTime returns the creation time of a table's snapshot, in milliseconds. ok is false if there is no snapshot of that name and
// table, or none that the user may see.
func (c *Cluster) SnapshotTime(ctx context.Context, table TableName, name string) (created int64, ok bool, err error) {
	s, ok, err := c.FindSnapshot(ctx, name)
	ok = ok && s.Table == table
	return s.Created, ok, err
}

// DeleteSnapshot deletes a table's snapshot. A missing snapshot is not an error. The next run of the master's cleaner deletes the files
// that only this snapshot has kept.
func (c *Cluster) DeleteSnapshot(ctx context.Context, table TableName, name string) error {
	s := &pb.SnapshotDescription{Name: &name, Table: proto.String(table.String())}
	err := c.master(ctx, "DeleteSnapshot", &pb.DeleteSnapshotRequest{Snapshot: s}, &pb.DeleteSnapshotResponse{})
	if hbaserpc.SnapshotsOff(err) { // it may say so of a snapshot that was never taken
		if _, ok, missing := c.SnapshotTime(ctx, table, name); missing == nil && !ok {
			return nil
		}
	}
	if err != nil && !hbaserpc.Threw(err, "SnapshotDoesNotExistException") {
		return fmt.Errorf("delete snapshot %s of table %s: %w", name, table, c.denied(err, "ADMIN", "A", table.String()))
	}
	return nil
}

// EndSnapshot deletes a table's snapshot, also one that the master may still be taking for a process that was killed: deleting it before it
// is complete has no effect. So if it is missing, it is requested, which waits for it, or takes it.
func (c *Cluster) EndSnapshot(ctx context.Context, table TableName, name string, created int64) error {
	if _, ok, err := c.SnapshotTime(ctx, table, name); err == nil && !ok {
		_ = c.Snapshot(ctx, table, name, created) // an error of the table's, or of the cluster's, which shows below
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return c.DeleteSnapshot(ctx, table, name)
}

// snapshotEnd polls until the master reports that a snapshot is complete.
func (c *Cluster) snapshotEnd(ctx context.Context, s *pb.SnapshotDescription) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ProcedureTimeout, fmt.Errorf("not complete within %s", c.cfg.ProcedureTimeout))
	defer cancel()
	for {
		resp := &pb.IsSnapshotDoneResponse{}
		if err := c.master(ctx, "IsSnapshotDone", &pb.IsSnapshotDoneRequest{Snapshot: s}, resp); err != nil {
			return err
		}
		if resp.GetDone() {
			return nil
		}
		if err := retry.Sleep(ctx, snapshotPause); err != nil {
			return err
		}
	}
}

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
