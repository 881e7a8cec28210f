package replace

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
)

// A Plan is the part of a job's plan that describes the replacement.
type Plan struct {
	Known      string `json:"known"`       // when the number of deleted rows is known
	MaxDeletes string `json:"max_deletes"` // the limit of deleted rows
	Of         string `json:"table,omitempty"`
	Into       string `json:"into,omitempty"`        // table that is created to replace that one
	Exists     bool   `json:"into_exists,omitempty"` // the table exists already

	*Prediction // nil: no table was read
}

// PlanFor predicts which rows a replacing job deletes, if it may ask the cluster of env. into is the table that replaces that of the job, if any. It
// returns nil for a job that replaces nothing.
func PlanFor(ctx context.Context, env *cluster.Env, s spec.Job, into string, w build.WorkOptions, asks bool) (*Plan, error) {
	if !s.Replace {
		return nil, nil
	}
	r := &Plan{Known: "before the load", MaxDeletes: s.MaxDeletes().String(), Of: s.Table, Into: into}
	if into != "" && s.MaxDeletes().All() {
		r.Known = "never"
	}
	if !asks {
		return r, nil
	}
	var err error
	if into != "" {
		if r.Exists, err = exists(ctx, env, into); err != nil || r.Known == "never" {
			return r, err
		}
	}
	if r.Prediction, err = Predict(ctx, env, s, w); err != nil {
		return nil, fmt.Errorf("predict the rows that would be deleted: %w", err)
	}
	r.Known = "now"
	if r.OneOf > 1 {
		r.Known = "now, as an estimate"
	}
	return r, nil
}

func exists(ctx context.Context, env *cluster.Env, name string) (bool, error) {
	t, err := loader.ParseTableName(name)
	if err != nil {
		return false, fail.With(fail.Config, err)
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close()
	_, err = c.Describe(ctx, t)
	if errors.Is(err, loader.ErrTableNotFound) {
		return false, nil
	}
	return err == nil, cluster.Failure(err)
}
