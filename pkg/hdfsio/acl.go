package hdfsio

import (
	"context"
	"io/fs"

	"github.com/colinmarc/hdfs/v2"
)

// UserRights returns the rights that the ACL of a file or directory gives users by name, each as the three bits of read (4), write (2) and
// execute (1) that the ACL's mask leaves. It is empty where there is no ACL, or none that names a user; it costs a call where there is one.
// For a user who is named, and is not the owner, no other bits of the mode count.
func (h *HDFS) UserRights(ctx context.Context, name string, info fs.FileInfo) (rights map[string]fs.FileMode, err error) {
	const hasACL = 0x01 // of HdfsFileStatusProto.Flags, Hadoop 3
	st, ok := info.Sys().(*hdfs.FileStatus)
	if !ok || st.GetFlags()&hasACL == 0 {
		return nil, nil
	}
	name, err = cleanName("acl", name)
	if err != nil {
		return nil, err
	}
	err = h.repeat(ctx, "acl", name, func() error {
		rights, err = h.dfs.NamedUsers(ctx, name)
		return err
	})
	return rights, err
}

// SetStoragePolicy implements [PolicySetter].
func (h *HDFS) SetStoragePolicy(ctx context.Context, name, policy string) error {
	name, err := cleanName("set storage policy", name)
	if err != nil {
		return err
	}
	return h.repeat(ctx, "set storage policy", name, func() error { return h.dfs.SetStoragePolicy(ctx, name, policy) })
}
