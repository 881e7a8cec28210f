package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/mapreduce"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// replacePlan is the part of a plan that describes a job with --replace.
type replacePlan struct {
	Known      string `json:"known"`       // when the number of deleted rows is known
	MaxDeletes string `json:"max_deletes"` // the limit of deleted rows
	Of         string `json:"table,omitempty"`
	Into       string `json:"into,omitempty"`        // table that is created to replace that one
	Exists     bool   `json:"into_exists,omitempty"` // the table exists already

	*replace.Prediction // nil: no table was read
}

// fullPlan is an estimate, with the prediction of a job on YARN, and the description of a job with --replace.
type fullPlan struct {
	*estimate.Estimate
	YARN    *mapreduce.Prediction `json:"yarn,omitempty"`
	Replace *replacePlan          `json:"replace,omitempty"`
}

// planReplace predicts which rows a job with --replace deletes, if a table can be read. It returns nil for a job
// without --replace.
func planReplace(ctx context.Context, env *cluster.Env, s spec.Job, into string, w build.WorkOptions, asks bool) (*replacePlan, error) {
	if !s.Replace {
		return nil, nil
	}
	r := &replacePlan{Known: "before the load", MaxDeletes: s.MaxDeletes().String(), Of: s.Table, Into: into}
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
	if r.Prediction, err = replace.Predict(ctx, env, s, w); err != nil {
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

func (r *replacePlan) print(w io.Writer) {
	if r == nil {
		return
	}
	gone := "deleted"
	if r.Into != "" {
		gone = "missing from table " + r.Into
		fmt.Fprintf(w, "\ninto: table %s will be made like table %s, which stays until --drop-old\n", r.Into, r.Of)
		if r.Exists {
			fmt.Fprintf(w, "table %s exists already: run refuses it unless an earlier attempt of this job made it\n", r.Into)
		}
	}
	if r.Known == "never" {
		fmt.Fprintf(w, "with --max-deletes %s the tables are not compared\n", r.MaxDeletes)
		return
	}
	p := r.Prediction
	if p == nil {
		fmt.Fprintf(w, "\nreplace: run counts the rows of the table that are %s when the HFiles are built, before it loads anything,\n"+
			"and refuses more than %s\n", gone, r.text())
		return
	}
	share := 0.0
	if p.Rows > 0 {
		share = float64(p.Deleted) / float64(p.Rows) * 100
	}
	about, how := "", "all keys of the input were compared with a snapshot of the table"
	if p.OneOf > 1 {
		about, how = "about ", fmt.Sprintf("estimated from one of %s, %d of them not in the export; more --memory compares more", setting.Count(p.OneOf, "key"), p.Seen)
	}
	verdict := "allows"
	if p.Refused {
		verdict = "refuses that: check that the export is complete, or raise the limit; it allows"
	}
	fmt.Fprintf(w, "\nreplace: %s%d of the table's %s (%.2f%%) are not in the export and would be %s (%s)\nrun %s at most %s\n", about, p.Deleted, setting.Count(p.Rows, "row"), share, gone, how, verdict, r.text())
}

func (r *replacePlan) text() string {
	if strings.HasSuffix(r.MaxDeletes, "%") {
		return r.MaxDeletes + " of the rows before"
	}
	return r.MaxDeletes + " rows"
}
