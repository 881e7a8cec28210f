package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/findings"
	"bulkload/internal/cli/settings"
	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type inspectOptions struct {
	clusterFlags
	options inspect.Options
	write   string
	profileOptions
}

func newInspectCmd(g *globals) *cobra.Command {
	o := &inspectOptions{}
	cmd := &cobra.Command{
		Use:   "inspect PATH… | --job FILE",
		Short: "Say what is in files: format, dialect, columns; write a starting job file",
		Long: `Inspect reads the beginning of files and reports their format, compression, character
set and dialect, their columns with guessed types, the text that stands for NULL, the
columns that could be a key, and what a job would refuse. --write makes a job file.

If the sample is ambiguous, inspect lists the possible readings and the first place
where they differ, writes no job file and exits with 2. Give the flags that describe
the text, such as --dialect, and inspect again. For refused files it exits with 5. Values
are shown only with --values. The findings hold for the sample.

With --profile, inspect then reads the whole input on all cores and reports each
column: NULLs, the number of distinct values, the least and the greatest value, a
histogram, the most frequent values. --report makes a page from it. The job file of
--write then has initial expectations, which the input meets. With --job the input is
read as run would read it, with bad records up to bad_records, and nothing is guessed.
A profile has values of records: only its owner may read the files that have it.`,
		Example: `  bulkload inspect /exports/check/20171012
  bulkload inspect hdfs://nn/warehouse/check --write check.yaml
  bulkload inspect check.txt --dialect mysql --null-value '\N' --write check.yaml
  bulkload inspect /exports/check/20171012 --profile --report check.html --write check.yaml
  bulkload inspect --job check.yaml --profile --profile-share 10% --hide name,phone`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && o.jobFile == "" {
				return fail.Usage(errors.New("name the files, directories or patterns to inspect"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, g, args) },
	}
	f := cmd.Flags()
	settings.AddField(f, "format", "columns", "bad_records")
	settings.AddFields(f, spec.OfText)
	o.clusterFlags.addReading(f)
	o.options = inspect.Options{Sample: 16 << 20, Memory: 256 << 20}
	settings.Bind(f, settings.To{"sample": (*spec.Size)(&o.options.Sample), "memory": (*spec.Size)(&o.options.Memory), "write": &o.write, "values": &o.options.Values,
		"job": &o.jobFile, "profile": &o.profile, "profile-share": &o.share, "hide": &o.hide, "report": &o.page, "workers": &o.workers})
	return cmd
}

func (o *inspectOptions) run(cmd *cobra.Command, g *globals, paths []string) error {
	if err := o.check(); err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	given := settings.JobSpec(cmd)
	if len(paths) > 0 {
		given.Inputs, given.InputsFrom = paths, ""
	}
	switch {
	case o.profile && o.jobFile != "":
		return o.ofJob(cmd, g, env, given)
	case len(given.Inputs) == 0:
		return fail.Usage(errors.New("the job file names no inputs: name the files, directories or patterns to inspect"))
	}
	r, err := inspect.Run(cmd.Context(), env.Source, given.Inputs, given, o.options)
	if err != nil {
		return err
	}
	if o.profile && r.Job() != nil {
		if err := o.add(cmd.Context(), env, r); err != nil {
			return err
		}
	}
	wrote := ""
	if job := r.Job(); o.write != "" && job != nil {
		if err := o.writeJob(job); err != nil {
			return err
		}
		wrote = o.write
	}
	if err := g.Print(cmd.OutOrStdout(), r, func(w io.Writer) { findings.Print(w, r, wrote) }); err != nil {
		return err
	}
	return o.inspected(cmd, r)
}

// writeJob writes a job file that does not exist yet. If it has values of a profile, only its owner may read it.
func (o *inspectOptions) writeJob(job []byte) error {
	mode := os.FileMode(0o644)
	if o.profile {
		mode = 0o600
	}
	err := durable.Create(o.write, job, mode)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s exists: name another file, or remove it", o.write)
	}
	if err != nil {
		return fail.With(fail.Config, settings.AboutFlags(fmt.Errorf("--write: %w", err), "write"))
	}
	return nil
}

// inspected returns the outcome of an inspection as an error.
func (o *inspectOptions) inspected(cmd *cobra.Command, r *inspect.Report) error {
	unwritten := ""
	if o.write != "" {
		unwritten = ", and no job file was written"
	}
	switch {
	case r.Doubtful():
		var about []string
		for _, d := range r.Doubts {
			for _, field := range d.About {
				if flag := settings.Flag(setting.Name(field)); cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")) != nil && !slices.Contains(about, flag) {
					about = append(about, flag)
				}
			}
		}
		if len(about) == 0 { // the input itself is doubtful
			return &fail.Error{Kind: fail.Config, Err: fmt.Errorf("no job file was written: %s", r.Doubts[0].Text)}
		}
		return &fail.Error{Kind: fail.Config, Err: fmt.Errorf("the sample is ambiguous and no job file was written: decide with %s", strings.Join(about, ", "))}
	case r.Unreadable() && len(r.Refused) > 0:
		return &fail.Error{Kind: fail.Input, Err: fmt.Errorf("%s refused%s: %s", setting.Count(len(r.Refused), "input is"), unwritten, r.Refused[0].Reason)}
	case r.Unreadable():
		return &fail.Error{Kind: fail.Input, Err: fmt.Errorf("no input can be read%s", unwritten)}
	}
	return nil
}
