package tablesource

import (
	"context"
	"errors"

	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
)

// Mount has env read what the source is as the input that names it.
func (s *Source) Mount(env *cluster.Env, input string) {
	files := NewFiles(s.fsys, s.root, s.Snapshot.Name, s.ref)
	env.Mount(input, files, files.Dir())
}

// Mount opens those inputs that are tables, and has env read them. A snapshot that
// was taken for this is deleted by done, which is never nil.
func Mount(ctx context.Context, env *cluster.Env, inputs []string) (done func(context.Context) error, err error) {
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
		s, err := Open(ctx, env, r, Options{})
		if err != nil {
			return done, errors.Join(err, done(ctx))
		}
		open = append(open, s)
		s.Mount(env, input)
	}
	return done, nil
}
