package dfs

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Defaults holds the NameNode's defaults for files.
type Defaults struct {
	BlockSize, Replication int64
	Chunk                  int64  // bytes covered by one checksum
	KeyProvider            string // the address of the KMS in the form of Hadoop's configuration; empty: none
	encrypted              bool   // whether data transfer is encrypted
}

// knownDefaults holds defaults with the time of the request.
type knownDefaults struct {
	Defaults
	at time.Time
}

// defaultsFor is how long the defaults are cached, as in Hadoop's own clients: each new connection to a DataNode needs them, also while no
// NameNode answers.
const defaultsFor = time.Hour

// Defaults returns the response of getServerDefaults, cached for up to an hour.
func (c *Client) Defaults(ctx context.Context) (Defaults, error) {
	c.mu.Lock()
	k := c.defaults
	c.mu.Unlock()
	if time.Since(k.at) < defaultsFor {
		return k.Defaults, nil
	}
	answer, _, err := c.Call(ctx, "getServerDefaults", nil)
	if err != nil {
		return Defaults{}, err
	}
	m, ok := frames.Bytes(answer, 1) // FsServerDefaultsProto
	provider, _ := frames.Bytes(m, 9)
	d := Defaults{BlockSize: int64(frames.Number(m, 1)), Replication: int64(frames.Number(m, 4)), Chunk: int64(frames.Number(m, 2)),
		KeyProvider: string(provider), encrypted: frames.Number(m, 6) != 0}
	if d.Chunk <= 0 || d.Chunk > packetData {
		d.Chunk = usualChunk
	}
	if !ok || d.BlockSize <= 0 || d.Replication <= 0 {
		return d, errors.New("the namenode's answer to getServerDefaults is malformed")
	}
	c.mu.Lock()
	c.defaults = knownDefaults{d, time.Now()}
	c.mu.Unlock()
	return d, nil
}

// Rename renames a file or directory. An existing target is refused (FSDirRenameOp.validateOverwrite, Hadoop 3.4).
func (c *Client) Rename(ctx context.Context, from, to string) error {
	r := frames.AppendNumber(frames.AppendEach(nil, from, to), 3, 0) // Rename2RequestProto
	_, _, err := c.Call(ctx, "rename2", r)
	return err
}

// Zone returns the root of a path's encryption zone and the name of its key, both empty if there is none. The path need not exist
// (EncryptionZoneProto of encryption.proto, Hadoop 3.4).
func (c *Client) Zone(ctx context.Context, name string) (root, key string, err error) {
	answer, _, err := c.Call(ctx, "getEZForPath", frames.AppendBytes(nil, 1, name))
	if err != nil {
		return "", "", err
	}
	zone, _ := frames.Bytes(answer, 1)
	at, _ := frames.Bytes(zone, 2)
	by, _ := frames.Bytes(zone, 5)
	if len(answer) > 0 && len(at) == 0 {
		return "", "", errors.New("the namenode's answer to getEZForPath is malformed")
	}
	return string(at), string(by), nil
}

// SafeMode reports whether the active NameNode is in safe mode, in which it refuses changes (SetSafeModeRequestProto of
// ClientNamenodeProtocol.proto, Hadoop 3.4). All users may ask.
func (c *Client) SafeMode(ctx context.Context) (on bool, err error) {
	const get = 3 // SAFEMODE_GET
	request := frames.AppendNumber(frames.AppendNumber(nil, 1, get), 2, 1)
	answer, _, err := c.Call(ctx, "setSafeMode", request)
	return frames.Number(answer, 1) != 0, err
}

// SetStoragePolicy sets the storage policy of a directory or file (SetStoragePolicyRequestProto of ClientNamenodeProtocol.proto, Hadoop
// 3.4).
func (c *Client) SetStoragePolicy(ctx context.Context, name, policy string) error {
	_, _, err := c.Call(ctx, "setStoragePolicy", frames.AppendEach(nil, name, policy))
	return err
}

// status holds the fields of an HdfsFileStatusProto that this package uses.
type status struct {
	id     uint64
	length int64
}

// status returns a file's inode number and length.
func (c *Client) status(ctx context.Context, name string) (status, error) {
	answer, _, err := c.Call(ctx, "getFileInfo", frames.AppendBytes(nil, 1, name))
	if err != nil {
		return status{}, err
	}
	m, ok := frames.Bytes(answer, 1)
	if !ok {
		return status{}, fs.ErrNotExist
	}
	return status{frames.Number(m, 13), int64(frames.Number(m, 3))}, nil
}

// Located holds the block locations of a file.
type Located struct {
	Length int64
	Open   bool // for writing
	Blocks []Block
}

// Locate returns the blocks that contain bytes [off, off+length) of a file.
func (c *Client) Locate(ctx context.Context, name string, off, length int64) (Located, error) {
	r := frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, name), 2, uint64(off)), 3, uint64(length))
	answer, _, err := c.Call(ctx, "getBlockLocations", r)
	if err != nil {
		return Located{}, err
	}
	return parseLocated(answer)
}

// parseLocated parses a GetBlockLocationsResponseProto, whose LocatedBlocksProto is field 1.
func parseLocated(answer []byte) (l Located, err error) {
	m, ok := frames.Bytes(answer, 1)
	ok = ok && frames.Fields(m, func(field protowire.Number, number uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			l.Length = int64(number)
		case field == 2 && data != nil:
			b, e := parseBlock(data)
			l.Blocks, err = append(l.Blocks, b), errors.Join(err, e)
		case field == 3 && data == nil:
			l.Open = number != 0
		}
	})
	if !ok || err != nil {
		return Located{}, errors.New("the namenode's answer to getBlockLocations is malformed")
	}
	return l, nil
}

// renewal is the interval of lease renewals. After a minute without renewal other clients may take the lease.
const renewal = 30 * time.Second

// File is a file being written. It must be released when it is complete or abandoned.
type File struct {
	Name string
	ID   uint64
	Made time.Time
	// Encryption holds the parameters for encrypting the file's bytes, nil outside of encryption zones.
	Encryption *Encryption
	Defaults

	client  *Client
	ctx     context.Context
	holder  string // of the lease
	release context.CancelFunc
	renew   *time.Timer
}

// Create creates a file, which must not exist, with a mode in HDFS's bits. The block size is rounded up to whole checksum
// chunks. A block size or replication of 0 selects the NameNode's default. The lease is renewed until the file is released or
// the context ends. sent is false if no NameNode can have executed the call.
func (c *Client) Create(ctx context.Context, name string, mode uint32, blockSize, replication int64) (f *File, sent bool, err error) {
	d, err := c.Defaults(ctx)
	if err != nil {
		return nil, false, err
	}
	if blockSize > 0 {
		d.BlockSize = blockSize
	}
	if replication > 0 {
		d.Replication = replication
	}
	d.BlockSize = (d.BlockSize + d.Chunk - 1) / d.Chunk * d.Chunk
	f = &File{Name: name, Defaults: d, client: c, holder: holder()}
	r := frames.AppendBytes(nil, 1, name) // CreateRequestProto
	r = frames.AppendBytes(r, 2, frames.AppendNumber(nil, 1, uint64(mode)))
	r = frames.AppendBytes(r, 3, f.holder)
	r = frames.AppendNumber(r, 4, 1) // CREATE, which refuses an existing name
	r = frames.AppendNumber(r, 5, 0) // do not create parents
	r = frames.AppendNumber(r, 6, uint64(d.Replication))
	r = frames.AppendNumber(r, 7, uint64(d.BlockSize))
	r = frames.AppendNumber(r, 8, EncryptionZones) // the client can encrypt; no effect outside of zones
	answer, sent, err := c.Call(ctx, "create", r)
	if err != nil {
		return nil, sent, err
	}
	m, _ := frames.Bytes(answer, 1)
	f.ID, f.Made = frames.Number(m, 13), time.UnixMilli(int64(frames.Number(m, 7)))
	if info, ok := frames.Bytes(m, 15); ok {
		f.Encryption = parseEncryption(info)
	}
	f.ctx, f.release = context.WithCancel(ctx)
	f.renew = time.AfterFunc(math.MaxInt64, f.renewLease)
	f.renew.Reset(renewal)
	return f, true, nil
}

func holder() string { return "bulkload-" + rand.Text() }

// renewLease renews the lease and schedules the next renewal. An error is ignored: the next renewal may succeed.
func (f *File) renewLease() {
	if f.ctx.Err() == nil {
		_, _, _ = f.client.Call(f.ctx, "renewLease", frames.AppendBytes(nil, 1, f.holder))
		f.renew.Reset(renewal)
	}
}

// Release stops renewing the lease.
func (f *File) Release() {
	f.release()
	f.renew.Stop()
}

// AddBlock allocates the next block of the file, without the excluded DataNodes. previous is the previous block, with its length.
// The first replica is placed on the DataNode at favored, host:port of data transfer, or on another DataNode of its host. If there
// is none, or if favored is empty, the NameNode chooses. The call may be repeated.
func (f *File) AddBlock(ctx context.Context, previous *Block, without []DataNode, favored string) (Block, error) {
	r := frames.AppendEach(nil, f.Name, f.holder) // AddBlockRequestProto
	if previous != nil {
		r = frames.AppendBytes(r, 3, previous.id)
	}
	for _, n := range without {
		r = frames.AppendBytes(r, 4, n.info)
	}
	r = frames.AppendNumber(r, 5, f.ID)
	if favored != "" {
		r = frames.AppendBytes(r, 6, favored)
	}
	answer, _, err := f.client.Call(ctx, "addBlock", r)
	if err != nil {
		return Block{}, err
	}
	return parseGiven(answer)
}

// parseGiven parses an AddBlockResponseProto.
func parseGiven(answer []byte) (Block, error) {
	m, ok := frames.Bytes(answer, 1)
	b, err := parseBlock(m)
	if !ok || err != nil || len(b.Nodes) == 0 {
		return Block{}, errors.New("the namenode's answer to addBlock is malformed")
	}
	return b, nil
}

// Complete closes the file, given its last block with its length. It returns false until enough DataNodes have reported the
// block. The call may be repeated, always with the last block: the NameNode may not have recorded its length
// (FSDirWriteFileOp.completeFileInternal, Hadoop 3.4).
func (f *File) Complete(ctx context.Context, last *Block) (bool, error) {
	r := frames.AppendEach(nil, f.Name, f.holder) // CompleteRequestProto
	if last != nil {
		r = frames.AppendBytes(r, 3, last.id)
	}
	answer, _, err := f.client.Call(ctx, "complete", frames.AppendNumber(r, 4, f.ID))
	return err == nil && frames.Number(answer, 1) == 1, err
}

// Values of AclEntryTypeProto and AclEntryScopeProto (acl.proto, Hadoop 3.4).
const (
	aclUser   = 0
	aclMask   = 2
	aclAccess = 0
)

// NamedUsers returns the users that the ACL of a path names, each with the rights that the mask leaves (getAclStatus). Default entries,
// for new files below a directory, are ignored.
func (c *Client) NamedUsers(ctx context.Context, name string) (map[string]fs.FileMode, error) {
	answer, _, err := c.Call(ctx, "getAclStatus", frames.AppendBytes(nil, 1, name))
	if err != nil {
		return nil, err
	}
	return parseNamedUsers(answer)
}

// parseNamedUsers parses a GetAclStatusResponseProto. A NameNode omits the mask from the entries: it is the group part of the mode
// (AclStorage.readINodeAcl).
func parseNamedUsers(answer []byte) (map[string]fs.FileMode, error) {
	users, mask := map[string]fs.FileMode{}, fs.FileMode(7)
	status, ok := frames.Bytes(answer, 1)
	ok = ok && frames.Fields(status, func(field protowire.Number, _ uint64, data []byte) {
		switch {
		case field == 4 && data != nil: // AclEntryProto
			user, _ := frames.Bytes(data, 4)
			rights := fs.FileMode(frames.Number(data, 3) & 7)
			switch kind := frames.Number(data, 1); {
			case frames.Number(data, 2) != aclAccess:
			case kind == aclUser && len(user) > 0:
				users[string(user)] = rights
			case kind == aclMask:
				mask = rights
			}
		case field == 5 && data != nil: // FsPermissionProto
			mask = (fs.FileMode(frames.Number(data, 1)) >> 3) & 7
		}
	})
	if !ok {
		return nil, errors.New("the namenode's answer to getAclStatus is malformed")
	}
	for user := range users {
		users[user] &= mask
	}
	return users, nil
}
