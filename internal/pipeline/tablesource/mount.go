package tablesource

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/base/abilities"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
)

// Mount makes env read the source as the input that names it.
func (s *Source) Mount(env *cluster.Env, input string, parser Parser) {
	if s.Scanned != nil {
		files := &ScanFiles{Choice: s.choice, table: s.Scanned, dir: "/" + s.ref.String(), parser: parser}
		env.Mount(input, files, files.Dir())
		return
	}
	files := NewFiles(s.fsys, s.root, s.Snapshot.Name, s.ref, parser)
	files.Choice = s.choice
	env.Mount(input, files, files.Dir())
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
