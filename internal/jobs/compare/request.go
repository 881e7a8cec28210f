package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// A Side is one side of a comparison: one of Table, Snapshot, Dir and Export.
type Side struct {
	Table    loader.TableName
	Snapshot string
	Dir      string    // directory of HFiles, with a subdirectory for each family
	Export   *spec.Job // the inputs are read as run reads them

	// Env has the cluster, file systems and inputs. Conf is its configuration directory if it differs from the command's.
	Env  *cluster.Env
	Conf string
}

// name returns the name of a side in results.
func (s Side) name() string {
	switch {
	case s.Snapshot != "":
		return tablesource.Ref{Snapshot: s.Snapshot}.String()
	case s.Dir != "":
		return s.Dir
	case s.Export != nil:
		return strings.Join(s.Export.Inputs, ", ")
	}
	return tablesource.Ref{Table: s.Table}.String()
}

func (s Side) isTable() bool { return s.Table != (loader.TableName{}) }

// onHBase reports whether the side is a table or a snapshot.
func (s Side) onHBase() bool { return s.isTable() || s.Snapshot != "" }

// A Request describes a comparison.
type Request struct {
	A, B Side
	// Choice selects the cells of both sides that are compared. Default: all.
	Choice choice.Choice
	// Versions is the number of cells per column that are compared, the newest first; 0: all that the families keep. 1 is the version that readers see.
	Versions int
	// Timestamps makes cells with different timestamps differ.
	Timestamps bool
	// Key is the spec of B's keys, from columns of A or, with OldKey, from A's keys: A's rows are compared under the keys that rekey gives them. Empty:
	// rows have the same keys.
	Key, OldKey string
	// Repair loads the differences into B, which must be a table.
	Repair bool
}

// Options are the options of [Run].
type Options struct {
	build.WorkOptions
	State       checkpoint.Options
	ReadBy      tablesource.ReadBy
	Staging     string // directory on HDFS for the files of a repair, default [staging.Base]
	Differences string // file for the rows that differ; empty: not written
	Digests     string // file for the digests of each range; empty: no digests
	Limit       int    // maximum number of rows in Differences, default 1000
	RangeBytes  int64  // approximate bytes of HFiles per range; default 64 MiB
	// PhoenixIndexes is ignore to repair a table that has Phoenix indexes, which a repair does not change. Default: the repair is refused.
	PhoenixIndexes string
}

const (
	defaultLimit = 1000
	rangeBytes   = 64 << 20
)

func (o Options) withDefaults() Options {
	o.Limit, o.RangeBytes = cmp.Or(o.Limit, defaultLimit), cmp.Or(o.RangeBytes, rangeBytes)
	return o
}

// check refuses requests that are not supported.
func (r Request) check(o Options) error {
	scans := o.ReadBy == tablesource.ByScan && (r.A.isTable() || r.B.isTable())
	switch {
	case scans && r.Versions != 1:
		return fail.Errorf(fail.Config, "%s scan reads the newest version only: leave %s out, or read files", setting.ReadBy, setting.AllVersions)
	case r.Repair && !r.B.isTable():
		return fail.Errorf(fail.Config, "%s needs a table as B: a snapshot, a directory and an export are only read", setting.RepairB)
	case r.Repair && r.Versions != 1 && !r.Timestamps:
		return fail.Errorf(fail.Config, "%s of several versions needs %s: a version is found again by its timestamp", setting.RepairB, setting.Timestamps)
	case r.Repair && r.Key != "":
		return fail.Errorf(fail.Config, "%s does not go with %s: rekey makes the rows under new keys", setting.RepairB, setting.NewKey)
	case r.Key == "" && r.OldKey != "":
		return fail.Errorf(fail.Config, "%s needs %s, the spec of B's keys", setting.OldKey, setting.NewKey)
	case r.Key != "" && (r.A.Dir != "" || r.A.Export != nil || o.ReadBy == tablesource.ByScan):
		return fail.Errorf(fail.Config, "%s needs a table or a snapshot as A, read from its files", setting.NewKey)
	case r.Key != "" && len(r.Choice.Ranges) > 0:
		return fail.Errorf(fail.Config, "%s compares all rows: those of a range of A are all over B", setting.NewKey)
	}
	if err := r.Choice.Check(); err != nil {
		return err
	}
	if by := r.byTime(); by != "" {
		for _, s := range []Side{r.A, r.B} {
			if s.Export != nil && s.Export.Timestamp == 0 && s.Export.CellTimestamp == nil {
				return fail.Errorf(fail.Config, "%s needs the time of each cell, and the export's job gives none: give the load's %s, or map a column by `cell_timestamp`", by, setting.Timestamp)
			}
		}
	}
	if r.Key != "" {
		if _, err := r.keys(); err != nil {
			return fail.With(fail.Config, err)
		}
	}
	return nil
}

// byTime returns the setting by which timestamps of cells decide what differs; empty: they do not.
func (r Request) byTime() setting.Name {
	switch {
	case r.Timestamps:
		return setting.Timestamps
	case r.Choice.Since > 0:
		return setting.Since
	case r.Choice.Until > 0:
		return setting.Until
	}
	return ""
}

// keySpecs are the parsed key specs of a request with Key.
type keySpecs struct {
	key keygen.Expr
	old keygen.Expr // nil: none
}

func (r Request) keys() (k keySpecs, err error) {
	if k.key, err = keygen.Parse(r.Key); err == nil && r.OldKey != "" {
		k.old, err = keygen.Parse(r.OldKey)
	}
	return k, err
}

// identity returns the identity of the job. what is compare, or the repair that follows it.
func (r Request) identity(what, word string) (checkpoint.Identity, error) {
	parts := []string{what}
	for _, s := range []Side{r.A, r.B} {
		at := s.name()
		if s.Dir != "" {
			place, err := s.Env.Place(s.Dir)
			if err != nil {
				return checkpoint.Identity{}, err
			}
			at = place
		}
		if s.Export != nil {
			at += " " + s.Export.Table + " " + s.Export.Key()
		}
		parts = append(parts, at, s.Conf)
	}
	for _, x := range r.Choice.Ranges {
		parts = append(parts, rowkey.String(x.Start), rowkey.String(x.Stop))
	}
	for _, c := range r.Choice.Columns {
		parts = append(parts, fmt.Sprintf("%s:%q %t", c.Family, c.Qualifier, c.Qualifier == nil))
	}
	parts = append(parts, fmt.Sprint(r.Choice.Since, r.Choice.Until, r.Versions, r.Timestamps), r.Key, r.OldKey, word)
	return checkpoint.IdentifyParts(r.tableName(), parts...), nil
}

// tableName returns the table in the name of the job's directory.
func (r Request) tableName() loader.TableName {
	for _, s := range []Side{r.B, r.A} {
		if s.isTable() {
			return s.Table
		}
	}
	return loader.TableName{Namespace: "default", Qualifier: "compared"}
}

// view selects the cells of both sides.
type view struct {
	choice   choice.Choice
	versions int // 0: all
	now      time.Time
}

func (r Request) view(now time.Time) view {
	return view{choice: r.Choice, versions: r.Versions, now: now}
}

// Modulus returns the salt modulus of both sides: that of the job, or the one for which the tables, or the tables of
// the snapshots, are split.
func (r Request) Modulus(ctx context.Context, js spec.Job) (n int, err error) {
	if js.Regions > 0 || !keygen.NeedsRegions(js.RowKey()) {
		return js.SaltModulus(nil)
	}
	for _, s := range []Side{r.A, r.B} {
		if s.Dir != "" || s.Export != nil {
			continue
		}
		points, err := pointsOf(ctx, s)
		if err != nil {
			return 0, err
		}
		m, err := js.SaltModulus(points)
		if err != nil {
			return 0, err
		}
		if n > 0 && m != n {
			return 0, fail.With(fail.Check, setting.Errorf("A is split for %s and B for %s: say by how many the keys of both were made with %s", setting.Count(n, "salt"), setting.Count(m, "salt"), setting.SaltBuckets))
		}
		n = m
	}
	if n == 0 {
		return 0, fail.With(fail.Config, setting.Errorf("neither side has split points that show how many salts its keys have: say it with %s", setting.SaltBuckets))
	}
	return n, nil
}

// pointsOf returns the split points of a table, or of the table of a snapshot.
func pointsOf(ctx context.Context, s Side) (points [][]byte, err error) {
	if s.Snapshot != "" {
		src, err := tablesource.Open(ctx, s.Env, tablesource.Ref{Snapshot: s.Snapshot}, tablesource.Options{})
		if err != nil {
			return nil, err
		}
		return src.Splits(), src.Close(ctx)
	}
	c, err := s.Env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	regions, err := c.Regions(ctx, s.Table)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	for _, r := range regions[1:] {
		points = append(points, r.Start)
	}
	return points, nil
}

// salted returns the job of an export with the modulus of its salts: that of the other side's files, or for which its table is split.
func salted(ctx context.Context, js spec.Job, other *opened) (spec.Job, error) {
	if js.Regions > 0 || !keygen.NeedsRegions(js.RowKey()) {
		return js, nil
	}
	if other.Dir == "" {
		n, err := js.SaltModulus(other.starts())
		js.Regions = n
		return js, err
	}
	fsys, dir, err := other.Env.Resolve(other.Dir)
	if err != nil {
		return js, err
	}
	m, err := manifest.ReadUnchecked(ctx, fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return js, fail.With(fail.Input, err)
	}
	if m == nil || m.Key != js.RowKey().String() {
		return js, fail.With(fail.Config, setting.Errorf("%s does not show how many salts its keys have: say it with %s", other.name(), setting.SaltBuckets))
	}
	js.Regions = m.Modulus
	return js, nil
}
