package tablesource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

// passes returns an error that matches [fs.ErrPermission] if the user may not pass HBase's directories down to a table's files and to snapshots,
// so that no snapshot is taken that could not be read.
func passes(ctx context.Context, env *cluster.Env, table loader.TableName) error {
	fsys, root, err := env.Resolve(cluster.Root(env.Conf))
	if err != nil {
		return nil // reading the snapshot reports it
	}
	for _, name := range []string{".hbase-snapshot/.tmp", path.Join("data", table.Namespace, table.Qualifier, ".tabledesc")} {
		if _, err := fsys.Stat(ctx, path.Join(root, name)); errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// MayRead returns an error that matches [fs.ErrPermission] if HDFS does not let the user read the files of a table, before a snapshot of it is taken.
func MayRead(ctx context.Context, env *cluster.Env, table loader.TableName) error {
	if err := passes(ctx, env, table); err != nil {
		return cmp.Or(absent(ctx, env, table), denied(env, err))
	}
	return nil
}

// denied adds advice to an error about missing permissions on HBase's directory.
func denied(env *cluster.Env, err error) error {
	user, userErr := env.User()
	if userErr != nil {
		user = "this user"
	}
	return fail.With(fail.Check, fmt.Errorf("%w: user %s may not read HBase's directory %s: open it by an ACL of HDFS and hbase.rootdir.perms 750, or run as HBase's user",
		err, user, cluster.Root(env.Conf)))
}

// absent returns an error if a table does not exist.
func absent(ctx context.Context, env *cluster.Env, table loader.TableName) error {
	c, err := env.Dial(ctx)
	if err != nil {
		return fail.With(fail.Load, err)
	}
	defer c.Close()
	if _, err := c.Describe(ctx, table); errors.Is(err, loader.ErrTableNotFound) {
		return fail.With(fail.Input, err)
	}
	return nil
}
