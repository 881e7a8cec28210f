package dfs

import (
	"context"
	"errors"
	"io/fs"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

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
