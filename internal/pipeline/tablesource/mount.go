package tablesource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// ReadBy is the way to read a table: from its files, or by its region servers.
type ReadBy string

// Values of ReadBy. The zero value means ByFiles.
const (
	// ByFiles reads the HFiles of a snapshot from HDFS.
	ByFiles ReadBy = "files"
	// ByScan lets region servers scan the table.
	ByScan ReadBy = "scan"
	// ByAuto is ByFiles, or ByScan if HDFS denies the user access to the files.
	ByAuto ReadBy = "auto"
)

// Ways returns all values.
func Ways() []string { return []string{string(ByFiles), string(ByScan), string(ByAuto)} }

// CheckReadBy returns an error for a way that the inputs do not support. Inputs that are files need none.
func CheckReadBy(inputs []string, by ReadBy) error {
	switch {
	case by != "" && !slices.Contains(Ways(), string(by)):
		return fail.With(fail.Config, setting.Errorf("%s %q is invalid: want one of %s", setting.ReadBy, string(by), strings.Join(Ways(), ", ")))
	case by == "" || by == ByFiles:
		return nil
	case !slices.ContainsFunc(inputs, cluster.IsTable):
		return fail.With(fail.Config, setting.Errorf("%s is for an input that is a table, hbase:TABLE, and there is none", setting.ReadBy))
	case by == ByScan && slices.ContainsFunc(inputs, func(name string) bool { return strings.HasPrefix(name, cluster.SnapshotScheme) }):
		return fail.With(fail.Config, errSnapshotScan)
	}
	return nil
}

var errSnapshotScan = setting.Errorf("%s scan: region servers have no rows of a snapshot: name its table, hbase:TABLE, or have HBase's shell make a table of it (clone_snapshot) and name that", setting.ReadBy)

// Mount makes env read the source as the input that names it.
func (s *Source) Mount(env *cluster.Env, input string, parser Parser) {
	if s.Scanned != nil {
		files := &ScanFiles{Choice: s.choice, table: s.Scanned, dir: "/" + s.ref.String(), parser: parser}
		env.Mount(input, files, files.dir)
		return
	}
	files := NewFiles(s.fsys, s.root, s.Snapshot.Name, s.ref, parser)
	files.Choice = s.choice
	env.Mount(input, files, files.dir)
}

// Mount opens the inputs that are tables, and makes env read their chosen cells in the given
// way. done, which is never nil, deletes the snapshots that were taken for this.
func Mount(ctx context.Context, env *cluster.Env, inputs []string, by ReadBy, chosen choice.Choice, parser Parser) (done func(context.Context) error, err error) {
	var open []*Source
	done = func(ctx context.Context) error {
		var errs []error
		for _, s := range open {
			errs = append(errs, s.Close(ctx))
		}
		open = nil
		return errors.Join(errs...)
	}
	for _, input := range inputs {
		r, ok, err := Parse(input)
		if err != nil {
			return done, errors.Join(fail.With(fail.Config, err), done(ctx))
		}
		if !ok {
			continue
		}
		s, err := Open(ctx, env, r, Options{By: by, Choice: chosen})
		if err != nil {
			return done, errors.Join(err, done(ctx))
		}
		s.Report(env.Log.Warn)
		open = append(open, s)
		s.Mount(env, input, parser)
	}
	return done, nil
}

// Report warns if a table is read by scans without a request for that.
func (s *Source) Report(warn func(msg string, kv ...any)) {
	if s.Denied != nil {
		warn("the files of a table may not be read, and region servers scan it instead: its rows are not of one moment", "table", s.ref.Table.String(), "cause", s.Denied)
	}
}

// CheckTables returns an error if a job has settings for tables, columns parsed from keys or a choice of cells, but none of its inputs
// is a table.
func CheckTables(s spec.Job) error {
	if slices.ContainsFunc(s.Inputs, cluster.IsTable) {
		return nil
	}
	if s.Parse != "" {
		return fail.Errorf(fail.Config, "%s is for an input that is a table, hbase:TABLE or snapshot:NAME, and there is none", setting.ParseKey)
	}
	if name, ok := s.Spec().Choice.First(); ok {
		return fail.Errorf(fail.Config, "%s: %w", name, abilities.Refusal(abilities.Run, abilities.Part))
	}
	return nil
}

// A Ref names a table or a snapshot: one field is set.
type Ref struct {
	Table    loader.TableName // a snapshot of it is taken
	Snapshot string           // an existing snapshot
}

// Parse parses hbase:[NAMESPACE:]TABLE and snapshot:NAME. ok is false for other
// inputs.
func Parse(input string) (r Ref, ok bool, err error) {
	if name, is := strings.CutPrefix(input, cluster.TableScheme); is {
		if r.Table, err = loader.ParseTableName(name); err != nil {
			return Ref{}, true, fmt.Errorf("input %s: %w", input, err)
		}
		return r, true, nil
	}
	if name, is := strings.CutPrefix(input, cluster.SnapshotScheme); is {
		if name == "" || strings.ContainsAny(name, "/:") {
			return Ref{}, true, fmt.Errorf("input %s: %q is not a snapshot name", input, name)
		}
		return Ref{Snapshot: name}, true, nil
	}
	return Ref{}, false, nil
}

// String returns the input that names the table or snapshot.
func (r Ref) String() string {
	if r.Snapshot != "" {
		return cluster.SnapshotScheme + r.Snapshot
	}
	return cluster.TableScheme + r.Table.String()
}
