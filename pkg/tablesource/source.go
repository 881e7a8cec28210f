package tablesource

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/snapshot"
)

// Options say which snapshot is taken of a table. The zero value has one of a
// name that is used once.
type Options struct {
	// Name is that of the snapshot. One that is there already is taken if it is
	// of the table and of the time Created, as an earlier attempt has made it;
	// another gives [loader.ErrSnapshotExists].
	Name string
	// Created is the time of the snapshot's making in milliseconds, default now.
	// An attempt that may be repeated records Name and Created before.
	Created int64
	// Keep leaves the snapshot when the source is closed.
	Keep bool
}

// A Source is a snapshot that is being read. Safe for concurrent use; it must be
// closed.
type Source struct {
	Snapshot *snapshot.Snapshot
	Own      bool // it was taken by Open, or by an earlier attempt

	env  *cluster.Env
	keep bool
	ref  Ref
	fsys hdfsio.FS
	root string // hbase.rootdir there
}

// NewName is a name for a snapshot of a table that no other has.
func NewName(table loader.TableName, now time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("bulkload-%s-%s-%s", table.Qualifier, now.UTC().Format("20060102T150405"), hex.EncodeToString(random[:]))
}

// Open opens what r names. Of a table it takes a snapshot, and deletes it again
// if that cannot be read.
func Open(ctx context.Context, env *cluster.Env, r Ref, o Options) (_ *Source, err error) {
	s := &Source{env: env, keep: o.Keep, ref: r}
	name := r.Snapshot
	if name == "" {
		now := time.Now()
		if name = o.Name; name == "" {
			name = NewName(r.Table, now)
		}
		if o.Created == 0 {
			o.Created = now.UnixMilli()
		}
		if err := take(ctx, env, r.Table, name, o.Created); err != nil {
			err = fail.With(fail.Load, err)
			if ctx.Err() != nil && o.Name == "" && !o.Keep { // the master may take it all the same
				err = errors.Join(err, removeBegun(ctx, env, r.Table, name))
			}
			return nil, err
		}
		s.Own = true
		defer func() {
			if err != nil && !o.Keep {
				err = errors.Join(err, remove(ctx, env, r.Table, name))
			}
		}()
	}
	root := env.Conf.Value("hbase.rootdir")
	if root == "" {
		return nil, fail.Errorf(fail.Config, "hbase.rootdir is not configured: the files of snapshot %s lie below it; give the directory of hbase-site.xml", name)
	}
	if s.fsys, s.root, err = env.Resolve(root); err != nil {
		return nil, err
	}
	if s.Snapshot, err = snapshot.Open(ctx, s.fsys, s.root, name); err == nil {
		err = s.probe(ctx)
	}
	if err != nil {
		return nil, unreadable(env, root, err)
	}
	return s, nil
}

// take takes a snapshot, or finds that an earlier attempt has.
func take(ctx context.Context, env *cluster.Env, table loader.TableName, name string, created int64) error {
	c, err := env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SnapshotUnderWay(ctx, table, name); err != nil {
		return err
	}
	taken := c.Snapshot(ctx, table, name, created)
	if !errors.Is(taken, loader.ErrSnapshotExists) {
		return taken
	}
	is, ok, err := c.SnapshotTime(ctx, table, name)
	if err != nil {
		return err
	}
	if !ok || is != created {
		return fmt.Errorf("%w, and was not taken for this: delete it, or name another", taken)
	}
	return nil
}

// probe reads the beginning of the first region that has files.
func (s *Source) probe(ctx context.Context) error {
	for i, r := range s.Snapshot.Regions {
		if r.Files == 0 {
			continue
		}
		sc, err := s.Snapshot.Scan(ctx, i, snapshot.View{Raw: true})
		if err != nil {
			return err
		}
		return sc.Close()
	}
	return nil
}

// unreadable says what to do about a snapshot that HDFS does not give.
func unreadable(env *cluster.Env, root string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		user, userErr := env.User()
		if userErr != nil {
			user = "this user"
		}
		return fail.With(fail.HDFS, fmt.Errorf("%w: user %s may not read HBase's directory %s; run as HBase's user, or have hbase.rootdir.perms 750 and the user in HBase's group", err, user, root))
	case errors.Is(err, fs.ErrNotExist):
		return fail.With(fail.Input, fmt.Errorf("%w: list_snapshots of hbase shell shows which there are", err))
	case errors.Is(err, snapshot.ErrDamaged), errors.Is(err, snapshot.ErrUnsupported):
		return fail.With(fail.Input, err)
	}
	return fail.With(fail.HDFS, err)
}

// Close deletes a snapshot that was taken, also after ctx has ended.
func (s *Source) Close(ctx context.Context) error {
	if !s.Own || s.keep {
		return nil
	}
	table, err := loader.ParseTableName(s.Snapshot.Table)
	if err != nil {
		return err
	}
	return remove(ctx, s.env, table, s.Snapshot.Name)
}

// removeBegun removes a snapshot whose taking was stopped, once the master is done with it.
func removeBegun(ctx context.Context, env *cluster.Env, table loader.TableName, name string) error {
	wait, cancel := cleanup.Context(ctx)
	defer cancel()
	c, err := env.Dial(wait)
	if err == nil {
		defer c.Close()
		err = c.SnapshotUnderWay(wait, table, name)
	}
	if err != nil {
		return fail.With(fail.Load, fmt.Errorf("%w: if there is a snapshot, delete it by hand: delete_snapshot '%s'", err, name))
	}
	return remove(ctx, env, table, name)
}

func remove(ctx context.Context, env *cluster.Env, table loader.TableName, name string) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	c, err := env.Dial(ctx)
	if err == nil {
		defer c.Close()
		err = c.DeleteSnapshot(ctx, table, name)
	}
	if err != nil {
		return fail.With(fail.Load, fmt.Errorf("%w: delete it by hand: delete_snapshot '%s'", err, name))
	}
	return nil
}
