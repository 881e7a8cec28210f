package tablesource

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Options determine how a table is read, and which snapshot of it is taken. The
// zero value takes a snapshot with a unique name.
type Options struct {
	// By is the way to read a table, default ByFiles. An existing snapshot is
	// always read from its files.
	By ReadBy
	// Bounds are the bounds of an earlier attempt that read the table by scans,
	// and make this one do so too. Default: the table's current regions.
	Bounds *Bounds
	// Name is the name of the snapshot. An existing one is used if it is of the
	// same table and of the time Created, since an earlier attempt has taken it;
	// otherwise the error is [loader.ErrSnapshotExists].
	Name string
	// Created is the creation time of the snapshot in milliseconds, default now.
	// An attempt that may be repeated records Name and Created before.
	Created int64
	// FilesOnly means that scans cannot replace the files: errors do not suggest them, and it is an error if a table's
	// files cannot be read as a scan would return them.
	FilesOnly bool
	// Keep keeps the snapshot when the source is closed.
	Keep bool
	// Choice selects the cells of the mounted input. Families that the table lacks are an error. Default: all.
	Choice choice.Choice
}

// A Source is an open snapshot or table: either Snapshot or Scanned is not nil.
// It is safe for concurrent use and must be closed.
type Source struct {
	Snapshot *snapshot.Snapshot
	Scanned  *Scanned // only with ByScan or Bounds, and with ByAuto if Denied is set
	Own      bool     // the snapshot was taken by Open, or by an earlier attempt
	Denied   error    // why a table with ByAuto is read by scans; nil: it is not

	env    *cluster.Env
	keep   bool
	only   bool // only files may be read
	choice choice.Choice
	denied bool // HDFS denies the user access to the files of a table
	ref    Ref
	fsys   hdfsio.FS
	root   string // hbase.rootdir, on fsys
}

// NewName returns a unique name for a snapshot of a table.
func NewName(table loader.TableName, now time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("bulkload-%s-%s-%s", table.Qualifier, now.UTC().Format("20060102T150405"), hex.EncodeToString(random[:]))
}

// Open opens the input r. For a table it takes a snapshot, and deletes it again
// if that cannot be read.
func Open(ctx context.Context, env *cluster.Env, r Ref, o Options) (_ *Source, err error) {
	if err := CheckReadBy([]string{r.String()}, o.By); err != nil {
		return nil, err
	}
	s := &Source{env: env, keep: o.Keep, only: o.FilesOnly, choice: o.Choice, ref: r}
	if r.Snapshot == "" && (o.By == ByScan || o.Bounds != nil) {
		s.Scanned, err = openScan(ctx, env, r.Table, o.Bounds)
	} else if err = s.openFiles(ctx, o); o.By == ByAuto && s.denied {
		s.Denied = err
		s.Scanned, err = openScan(ctx, env, r.Table, nil)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx, o.Choice); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if key := o.Choice.KeyOrder; key != "" {
		env.Log.Warn(keyrange.KeyOrder, "key", key)
	}
	return s, nil
}

// Check returns an error for a choice of families that the table lacks, and for a choice of original keys if the table's rows have other salts.
func (s *Source) Check(ctx context.Context, c choice.Choice) error {
	if err := c.CheckFamilies(s.ref.String(), s.families()); err != nil || c.Salts == nil {
		return err
	}
	return c.Salts.Check(s.ref.String(), func(r keyrange.Range, n int) ([][]byte, error) {
		if s.Scanned != nil {
			return s.Scanned.first(ctx, r, n)
		}
		return s.first(ctx, r, n)
	})
}

// first returns the keys of the first n rows of a range.
func (s *Source) first(ctx context.Context, r keyrange.Range, n int) (rows [][]byte, err error) {
	sc := s.Snapshot.ScanRange(ctx, snapshot.View{Versions: 1, Start: r.Start, Stop: r.Stop})
	defer func() { err = errors.Join(err, sc.Close()) }()
	for len(rows) < n && sc.Next() {
		if sc.NewRow() {
			rows = append(rows, bytes.Clone(sc.Cell().Row))
		}
	}
	return rows, ReadFailure(sc.Err())
}

// families returns the families of the table.
func (s *Source) families() []string {
	if s.Scanned != nil {
		return s.Scanned.Families
	}
	return s.Snapshot.FamilyNames()
}

// Splits returns the start rows of all regions but the first.
func (s *Source) Splits() [][]byte {
	if s.Scanned != nil {
		return s.Scanned.Starts[1:]
	}
	return s.Snapshot.Splits()
}

// openFiles opens a snapshot; for a table it takes one. After an error it
// deletes the snapshot that it has taken, unless a later attempt is to use it.
func (s *Source) openFiles(ctx context.Context, o Options) (err error) {
	name := s.ref.Snapshot
	if name == "" {
		now := time.Now()
		name = cmp.Or(o.Name, NewName(s.ref.Table, now))
		o.Created = cmp.Or(o.Created, now.UnixMilli())
		if denied := passes(ctx, s.env, s.ref.Table); denied != nil {
			if err := absent(ctx, s.env, s.ref.Table); err != nil {
				return err
			}
			return s.unreadable(denied)
		}
		if err := takeSnapshot(ctx, s.env, s.ref.Table, name, o.Created); err != nil {
			if ctx.Err() != nil && o.Name == "" && !o.Keep {
				err = errors.Join(err, Abandon(ctx, s.env, s.ref.Table, name, o.Created))
			}
			if errors.Is(err, loader.ErrTableNotFound) {
				return fail.With(fail.Input, err)
			}
			return fail.With(fail.Load, err)
		}
		s.Own = true
		defer func() {
			if err != nil && (!o.Keep || o.By == ByAuto && s.denied) {
				s.Own = false
				if left := remove(ctx, s.env, s.ref.Table, name); left != nil {
					s.denied, err = false, errors.Join(err, left) // nothing is read instead while the snapshot exists
				}
			}
		}()
	}
	root, err := s.env.RootDir("snapshot " + name)
	if err != nil {
		return err
	}
	if s.fsys, s.root, err = s.env.Resolve(root); err != nil {
		return err
	}
	if s.Snapshot, err = snapshot.Open(ctx, s.fsys, s.root, name); err == nil {
		err = s.probe(ctx)
	}
	if err != nil {
		s.Snapshot = nil
		return s.unreadable(err)
	}
	return nil
}

// takeSnapshot takes a snapshot, unless an earlier attempt has taken it.
func takeSnapshot(ctx context.Context, env *cluster.Env, table loader.TableName, name string, created int64) error {
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
		return fmt.Errorf("%w, and another user took it, or another command: that user repeats the command, or deletes it (delete_snapshot '%s')", taken, name)
	}
	return nil
}

// Abandon deletes a snapshot that the master may be taking for a process that was
// stopped or killed, also after ctx has ended. It requests the snapshot again, to wait
// for the running one, since a snapshot that is deleted before it is complete stays.
func Abandon(ctx context.Context, env *cluster.Env, table loader.TableName, name string, created int64) error {
	again, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := takeSnapshot(again, env, table, name, created); err != nil {
		return fmt.Errorf("the snapshot that was being taken may stay: %w: look with list_snapshots, and delete it: delete_snapshot '%s'", err, name)
	}
	return remove(ctx, env, table, name)
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

// unreadable adds advice to an error about a snapshot that cannot be read from HDFS.
func (s *Source) unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		err = denied(s.env, err)
		if s.ref.Snapshot == "" {
			s.denied = true
			if !s.only {
				err = setting.Errorf("%w; or give %s scan, for which HBase's own rights count", err, setting.ReadBy)
			}
		}
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fail.With(fail.Input, fmt.Errorf("%w: list_snapshots of hbase shell shows which there are", err))
	case errors.Is(err, snapshot.ErrUnsupported) && s.only:
		return fail.With(fail.Check, err)
	case errors.Is(err, snapshot.ErrUnsupported):
		return fail.With(fail.Input, ByScans(err))
	case errors.Is(err, snapshot.ErrDamaged):
		return fail.With(fail.Input, err)
	}
	return fail.With(fail.HDFS, err)
}

// ByScans adds advice to an error about cells that a snapshot's reader cannot return as a scan would.
func ByScans(err error) error {
	if !errors.Is(err, snapshot.ErrUnsupported) {
		return err
	}
	return setting.Errorf("%w; of a table, which is not a snapshot, %s scan gives them", err, setting.ReadBy)
}

// ReadFailure adds the kind to an error of reading a table or a snapshot that has none.
func ReadFailure(err error) error {
	switch {
	case errors.Is(err, snapshot.ErrUnsupported):
		return fail.With(fail.Check, ByScans(err))
	case errors.Is(err, snapshot.ErrDamaged), errors.Is(err, hfile.ErrCorrupt):
		return fail.With(fail.Input, err)
	}
	return fail.With(fail.HDFS, err)
}

// InputFailure adds the kind to an error of reading the files of a snapshot that is an input.
func InputFailure(err error) error {
	switch {
	case errors.Is(err, snapshot.ErrDamaged), errors.Is(err, snapshot.ErrUnsupported), errors.Is(err, hfile.ErrCorrupt):
		return fail.With(fail.Input, err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fail.With(fail.HDFS, err)
}

// FilesFailure adds the kind to an error if files are required: [fail.Check] for a table with cells that cannot be
// read from files, else [fail.HDFS].
func FilesFailure(err error) error {
	if errors.Is(err, snapshot.ErrUnsupported) {
		return fail.With(fail.Check, err)
	}
	return fail.With(fail.HDFS, err)
}

// Close deletes a snapshot that was taken, also after ctx has ended.
func (s *Source) Close(ctx context.Context) error {
	if s.Scanned != nil {
		return s.Scanned.close()
	}
	if !s.Own || s.keep {
		return nil
	}
	return remove(ctx, s.env, s.ref.Table, s.Snapshot.Name)
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
