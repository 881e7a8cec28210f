package tablesource

import (
	"bytes"
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

// Options say how a table is read, and which snapshot is taken of it. The zero
// value has one of a name that is used once.
type Options struct {
	// By is how a table is read, default ByFiles. A snapshot that is there already
	// is always read from its files.
	By ReadBy
	// Bounds are the bounds of an earlier attempt that read the table by scans, which
	// this one does too. Default: what the table's regions are now.
	Bounds *Bounds
	// Name is the name of the snapshot. One that is there already is taken if it is
	// of the table and of the time Created, as an earlier attempt has made it;
	// another gives [loader.ErrSnapshotExists].
	Name string
	// Created is the time of the snapshot's making in milliseconds, default now.
	// An attempt that may be repeated records Name and Created before.
	Created int64
	// FilesOnly says that scans cannot take the place of the files: errors do not advise them, and a table whose files
	// cannot be read as a scan would give them is not fit.
	FilesOnly bool
	// Keep leaves the snapshot when the source is closed.
	Keep bool
	// Choice is which cells an input that the source is mounted as has. Families that the table lacks are refused. Default: all.
	Choice choice.Choice
}

// A Source is a snapshot that is being read, or a table: one of Snapshot and
// Scanned is not nil. Safe for concurrent use; it must be closed.
type Source struct {
	Snapshot *snapshot.Snapshot
	Scanned  *Scanned // only of ByScan, and of ByAuto if Denied
	Own      bool     // the snapshot was taken by Open, or by an earlier attempt
	Denied   error    // why a table with ByAuto is read by scans, nil: it is not

	env    *cluster.Env
	keep   bool
	only   bool // the files
	choice choice.Choice
	denied bool // HDFS says that the user may not read the files of a table
	ref    Ref
	fsys   hdfsio.FS
	root   string // hbase.rootdir there
}

// NewName returns a name for a snapshot of a table that no other has.
func NewName(table loader.TableName, now time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("bulkload-%s-%s-%s", table.Qualifier, now.UTC().Format("20060102T150405"), hex.EncodeToString(random[:]))
}

// Open opens what r names. Of a table it takes a snapshot, and deletes it again
// if that cannot be read.
func Open(ctx context.Context, env *cluster.Env, r Ref, o Options) (*Source, error) {
	if err := CheckReadBy([]string{r.String()}, o.By); err != nil {
		return nil, err
	}
	s := &Source{env: env, keep: o.Keep, only: o.FilesOnly, choice: o.Choice, ref: r}
	var err error
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
	return s, nil
}

// Check refuses a choice of families that the table lacks, and one of original keys if the table's rows have other salts.
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

// first returns the keys of the first rows of a range.
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

// Splits returns the rows at which regions after the first begin.
func (s *Source) Splits() [][]byte {
	if s.Scanned != nil {
		return s.Scanned.Starts[1:]
	}
	return s.Snapshot.Splits()
}

// openFiles opens a snapshot, which for a table is taken. One that was taken is
// deleted again after an error, unless a further attempt is to have it.
func (s *Source) openFiles(ctx context.Context, o Options) (err error) {
	name := s.ref.Snapshot
	if name == "" {
		now := time.Now()
		if name = o.Name; name == "" {
			name = NewName(s.ref.Table, now)
		}
		if o.Created == 0 {
			o.Created = now.UnixMilli()
		}
		if err := take(ctx, s.env, s.ref.Table, name, o.Created); err != nil {
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
					s.denied, err = false, errors.Join(err, left) // nothing is read instead while it is there
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
		return s.unreadable(root, err)
	}
	return nil
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

// Abandon deletes a snapshot that the master may be taking for a process that was
// stopped or killed, also after ctx has ended. It is asked for again: what is under
// way is waited for, since one that is deleted before it is complete stays.
func Abandon(ctx context.Context, env *cluster.Env, table loader.TableName, name string, created int64) error {
	again, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := take(again, env, table, name, created); err != nil {
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

// unreadable adds advice to the error of a snapshot that HDFS does not give.
func (s *Source) unreadable(root string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		user, userErr := s.env.User()
		if userErr != nil {
			user = "this user"
		}
		err = fmt.Errorf("%w: user %s may not read HBase's directory %s; run as HBase's user, or have hbase.rootdir.perms 750 and the user in HBase's group", err, user, root)
		if s.ref.Snapshot == "" {
			s.denied = true
			if !s.only {
				err = setting.Errorf("%w; or give %s scan, for which HBase's own rights count", err, setting.ReadBy)
			}
		}
		return fail.With(fail.HDFS, err)
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

// ByScans says of an error about cells that a snapshot's reader cannot give as a scan would, what to do instead.
func ByScans(err error) error {
	if !errors.Is(err, snapshot.ErrUnsupported) {
		return err
	}
	return setting.Errorf("%w; of a table, which is not a snapshot, %s scan gives them", err, setting.ReadBy)
}

// ReadFailure returns the kind of an error of reading a table or a snapshot that has none.
func ReadFailure(err error) error {
	switch {
	case errors.Is(err, snapshot.ErrUnsupported):
		return fail.With(fail.Check, ByScans(err))
	case errors.Is(err, snapshot.ErrDamaged), errors.Is(err, hfile.ErrCorrupt):
		return fail.With(fail.Input, err)
	}
	return fail.With(fail.HDFS, err)
}

// FilesFailure returns the kind of an error if files are needed: a table that has cells which cannot be read there is not
// fit, and else HDFS has failed.
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
	table, err := loader.ParseTableName(s.Snapshot.Table)
	if err != nil {
		return err
	}
	return remove(ctx, s.env, table, s.Snapshot.Name)
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
