package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/findings"
	"bulkload/internal/cli/report"
	"bulkload/internal/cli/settings"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/inspect"
	"bulkload/internal/jobs/profiling"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
)

type profileOptions struct {
	profile bool
	jobFile string
	share   string
	hide    string
	page    string
	workers int
}

// check refuses flags whose required flags are missing.
func (p *profileOptions) check() error {
	for name, value := range map[string]string{"profile-share": p.share, "hide": p.hide, "report": p.page} {
		if value != "" && !p.profile {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--%s is about a profile: give --profile too", name), name))
		}
	}
	_, err := p.part()
	return err
}

// part returns the fraction of the input to read.
func (p *profileOptions) part() (float64, error) {
	if p.share == "" {
		return 1, nil
	}
	number, ok := strings.CutSuffix(p.share, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, fail.Usage(settings.AboutFlags(fmt.Errorf("--profile-share %q is not a share above 0%% and up to 100%%, such as 10%%", p.share), "profile-share"))
	}
	return percent / 100, nil
}

// read profiles the input of a job.
func (o *inspectOptions) read(ctx context.Context, env *cluster.Env, job spec.Job) (*profiling.Result, error) {
	share, err := o.part()
	if err != nil {
		return nil, err
	}
	var hide []string
	if o.hide != "" {
		hide = settings.SplitList(o.hide)
	}
	r, err := profiling.Run(ctx, env.Source, job, profiling.Options{Workers: o.workers, Memory: spec.Size(o.options.Memory), Share: share, Expect: o.write != "", Hide: hide, Secret: settings.SecretName})
	if err != nil || o.page == "" {
		return r, err
	}
	page := report.Profile{Version: version, At: time.Now(), Profile: r.Profile}
	for _, in := range job.Inputs {
		page.Inputs = append(page.Inputs, settings.MaskURLs(in))
	}
	var b bytes.Buffer
	if err := errors.Join(page.Write(&b), durable.Replace(o.page, b.Bytes())); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

// add profiles the inspected input, with the job file that was generated for it.
func (o *inspectOptions) add(ctx context.Context, env *cluster.Env, r *inspect.Report) error {
	s, err := spec.ParseSpec("the job file", r.Job())
	if err != nil {
		return err
	}
	job, err := s.ResolveTable()
	if err != nil {
		return err
	}
	result, err := o.read(ctx, env, job)
	if err != nil {
		return err
	}
	r.Profile = result.Profile
	r.Expect, err = o.expectations(result)
	return err
}

// ofJob profiles the input of a job, which it reads as the job file specifies.
func (o *inspectOptions) ofJob(cmd *cobra.Command, g *globals, env *cluster.Env, given spec.Spec) (err error) {
	if err := stdinOnce(cmd, given); err != nil {
		return err
	}
	job, err := given.ResolveTable()
	if err != nil {
		return err
	}
	if err := needInputs(job); err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := listInputs(ctx, env, &job); err != nil {
		return err
	}
	unmount, err := mountTables(ctx, env, job)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(ctx)) }()
	result, err := o.read(ctx, env, job)
	if err != nil {
		return err
	}
	r := &inspect.Report{Schema: 1, Inputs: job.Inputs, Files: []inspect.File{}, Profile: result.Profile}
	for _, f := range result.Files {
		r.Files = append(r.Files, inspect.File{Path: f.Path, Size: f.Size, Format: string(f.Format), Compression: f.Compression})
	}
	if o.write != "" {
		section, err := o.expectations(result)
		if err == nil {
			err = o.writeJob(section)
		}
		if err != nil {
			return err
		}
	}
	return g.Print(cmd.OutOrStdout(), r, func(w io.Writer) {
		findings.PrintProfile(w, r.Profile)
		if o.write != "" {
			fmt.Fprintf(w, "expectations: %s (put them into the job file)\n", o.write)
		}
	})
}

// expectations returns the section of expectations for a job file.
func (o *inspectOptions) expectations(r *profiling.Result) ([]byte, error) {
	if o.write == "" {
		return nil, nil
	}
	rest := "the whole input"
	if !r.Profile.Whole() {
		rest = "a sample, so they only warn"
	}
	section, err := expectation.Write(r.Expect)
	return slices.Concat(fmt.Appendf(nil, "# Guessed from a profile of %s, with margins: see that they are what you expect.\n", rest), section), err
}
