package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/kerberos"
)

// Fields of Client.proto of HBase 2 for which gohbase has no type or no field.
const (
	prepareTable      = 1 // PrepareBulkLoadRequest.table_name
	prepareRegion     = 2 // .region: optional in the file, but the server relies on it
	preparedToken     = 1 // PrepareBulkLoadResponse.bulk_token
	cleanupToken      = 1 // CleanupBulkLoadRequest.bulk_token
	cleanupRegion     = 2 // .region
	bulkLoadFSToken   = 4 // BulkLoadHFileRequest.fs_token
	bulkLoadToken     = 5 // .bulk_token
	bulkLoadCopyFile  = 6 // .copy_file
	bulkLoadReplicate = 8 // .replicate
)

// raw returns a message made of its encoded fields.
func raw(fields []byte) proto.Message {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(fields)
	return m
}

func appendBool(b []byte, field protowire.Number, value bool) []byte {
	return frames.AppendNumber(b, field, protowire.EncodeBool(value))
}

func appendMessage(b []byte, field protowire.Number, m proto.Message) ([]byte, error) {
	encoded, err := proto.Marshal(m)
	return frames.AppendBytes(b, field, encoded), err
}

// firstRegion calls the region that holds the empty row, where Prepare and Cleanup go. Both can be repeated safely: a second Prepare leaves
// an empty directory. An exception of HDFS, such as a full quota, is not repeated: it needs an operator.
func (c *Cluster) firstRegion(ctx context.Context, table TableName, method string, request func(Region) (proto.Message, error)) (resp proto.Message, err error) {
	err = c.onRegion(ctx, method, repeatable, &locator{regions: &c.regions, table: table, prompt: true}, nil, func(l *hbaserpc.Connection, r Region) error {
		req, err := request(r)
		if err != nil {
			return err
		}
		resp = &emptypb.Empty{}
		return l.Invoke(ctx, method, req, resp)
	})
	return resp, err
}

// onRegion calls the server of the region that has a row, as often as [Cluster.retry] does.
func (c *Cluster) onRegion(ctx context.Context, what string, passes func(error) bool, at *locator, row []byte, call func(*hbaserpc.Connection, Region) error) (err error) {
	defer func() {
		if err != nil {
			at.unanswered(ctx)
		}
	}()
	return c.retry(ctx, what, passes, func(attempt int) error {
		r, err := at.locate(ctx, row, attempt > 0)
		if err != nil {
			return err
		}
		l, err := c.rpc.Connect(ctx, r.Server, hbaserpc.ClientService)
		if err != nil {
			return err
		}
		return call(l, r)
	})
}

// Prepare makes a staging directory as a load would and returns its path, the token; success shows that the user may load the table. Cleanup
// deletes the directory. Prepare waits for a call in progress when the context ends: without the answer, the directory that HBase made could
// not be removed.
func (c *Cluster) Prepare(ctx context.Context, table TableName) (string, error) {
	if ctx.Err() != nil {
		return "", fmt.Errorf("prepare the load of table %s: %w", table, context.Cause(ctx))
	}
	ctx, end := withGrace(ctx, c.cfg.LoadGrace/2)
	defer end()
	resp, err := c.firstRegion(ctx, table, "PrepareBulkLoad", func(r Region) (proto.Message, error) {
		b, err := appendMessage(nil, prepareTable, table.proto())
		if err != nil {
			return nil, err
		}
		b, err = appendMessage(b, prepareRegion, r.specifier())
		return raw(b), err
	})
	if err != nil {
		return "", fmt.Errorf("prepare the load of table %s: %w", table, c.denied(err, "CREATE", "RWC", table.String()))
	}
	token, _ := frames.Bytes(resp.ProtoReflect().GetUnknown(), preparedToken)
	if err := checkToken(string(token)); err != nil {
		return "", fmt.Errorf("prepare the load of table %s: %w", table, err)
	}
	return string(token), nil
}

// checkToken rejects a token that is not a directory under a staging directory: the server deletes, as its own user and recursively,
// whatever path it gets at Cleanup (SecureBulkLoadManager.cleanupBulkLoad, 2.6).
func checkToken(token string) error {
	p := fsPath(token)
	if p != path.Clean(p) || path.Base(path.Dir(p)) != "staging" || strings.Count(p, "/") < 3 {
		return fmt.Errorf("%q is not a directory below HBase's staging directory", token)
	}
	return nil
}

// Cleanup deletes a staging directory that Prepare returned, with all its contents.
func (c *Cluster) Cleanup(ctx context.Context, table TableName, token string) error {
	if err := checkToken(token); err != nil {
		return err
	}
	_, err := c.firstRegion(ctx, table, "CleanupBulkLoad", func(r Region) (proto.Message, error) {
		b, err := appendMessage(frames.AppendBytes(nil, cleanupToken, []byte(token)), cleanupRegion, r.specifier())
		return raw(b), err
	})
	return err
}

// bulkLoadRequest returns the request for the files of a region. It omits cluster_ids: a server that finds its own cluster's ID there
// answers that it has loaded, and does nothing. Without a token the server takes the files directly. fs is a DelegationToken: identifier,
// password, kind, service. Without replicate, the marker in the WAL is so marked, and peers drop it (ReplicationSink, 2.6).
func bulkLoadRequest(r Region, token string, fs *kerberos.Token, files []HFile, replicate bool) *pb.BulkLoadHFileRequest {
	req := &pb.BulkLoadHFileRequest{Region: r.specifier(), AssignSeqNum: proto.Bool(true)}
	for _, f := range files {
		req.FamilyPath = append(req.FamilyPath, &pb.BulkLoadHFileRequest_FamilyPath{Family: []byte(f.Family), Path: proto.String(f.Path)})
	}
	var b []byte
	if fs != nil {
		b = frames.AppendBytes(b, bulkLoadFSToken, frames.AppendEach(nil, fs.Identifier, fs.Password, []byte(fs.Kind), []byte(fs.Service)))
	}
	if token != "" {
		b = frames.AppendBytes(b, bulkLoadToken, []byte(token))
	}
	b = appendBool(b, bulkLoadCopyFile, false)
	b = appendBool(b, bulkLoadReplicate, replicate)
	req.ProtoReflect().SetUnknown(b)
	return req
}

// ErrStaged says that a file is in a staging directory of HBase: a region server may be about to take it, and there may be no other copy.
var ErrStaged = errors.New("a file is in it")

// RemoveStaging has HBase delete the staging directory that a load or a check has left, if it holds no file. A missing directory is not an
// error.
func (c *Cluster) RemoveStaging(ctx context.Context, fsys FS, table TableName, token string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("HBase's staging directory %s: %w", token, err)
		}
	}()
	if err := checkToken(token); err != nil {
		return err
	}
	dir := fsPath(token)
	families, err := fsys.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, family := range families {
		if !family.IsDir() {
			return fmt.Errorf("%s: %w", family.Name(), ErrStaged)
		}
		files, err := fsys.ReadDir(ctx, dir+"/"+family.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(files) > 0 {
			return fmt.Errorf("%s/%s: %w", family.Name(), files[0].Name(), ErrStaged)
		}
	}
	if err := c.Cleanup(ctx, table, token); err != nil {
		return fmt.Errorf("%w (delete it as HBase's user)", err)
	}
	return nil
}
