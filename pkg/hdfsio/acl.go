package hdfsio

import (
	"context"
	"io/fs"

	"github.com/colinmarc/hdfs/v2"
)

// UserRights returns the rights of users named in the ACL of a file or directory, each as the three bits of read (4), write (2) and execute
// (1) after the ACL's mask is applied. It is empty if there is no ACL, or if the ACL names no user. It costs a call only if there is an
// ACL. For a named user other than the owner, no other bits of the mode count.
func (h *HDFS) UserRights(ctx context.Context, name string, info fs.FileInfo) (rights map[string]fs.FileMode, err error) {
	const hasACL = 0x01 // of HdfsFileStatusProto.Flags, Hadoop 3
	st, ok := info.Sys().(*hdfs.FileStatus)
	if !ok || st.GetFlags()&hasACL == 0 {
		return nil, nil
	}
	err = h.about(ctx, "acl", name, func(name string) (err error) {
		rights, err = h.dfs.NamedUsers(ctx, name)
		return err
	})
	return rights, err
}

// SetStoragePolicy implements [PolicySetter].
func (h *HDFS) SetStoragePolicy(ctx context.Context, name, policy string) error {
	return h.about(ctx, "set storage policy", name, func(name string) error { return h.dfs.SetStoragePolicy(ctx, name, policy) })
}
