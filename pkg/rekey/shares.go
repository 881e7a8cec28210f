package rekey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/fail"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/manifest"
	"bulkload/pkg/setting"
	"bulkload/pkg/share"
	"bulkload/pkg/spec"
	"bulkload/pkg/tablesource"
)

// divide writes the plan by which other processes build the files. The journal has it from then on: the job builds none itself.
func (j *run) divide(ctx context.Context) error {
	k := j.st.Rekey
	if j.st.Built != nil || len(j.st.Attempts) > 0 && k.Shares == "" {
		return fail.Errorf(fail.Check, "an earlier attempt has begun to build or load: the same command without a plan resumes it, %s discards it", setting.Restart)
	}
	p, err := j.planned()
	if err != nil {
		return err
	}
	ref := tablesource.Ref{Snapshot: k.Snapshot}
	src, err := tablesource.Open(ctx, j.env, ref, tablesource.Options{FilesOnly: true})
	if err != nil {
		return err
	}
	src.Mount(j.env, ref.String(), nil)
	shares, err := share.MakeRekey(ctx, j.env, spec.Spec{Inputs: []string{ref.String()}, Duplicates: k.Duplicates, BadRecords: k.BadRecords}, src.Snapshot, p, j.st.Plan.Staging, j.o.WorkOptions)
	if err != nil {
		return err
	}
	switch k.Shares {
	case "":
		now := *k
		now.Shares = shares.Checksum
		err = j.st.Record(checkpoint.EventRekey, now)
	case shares.Checksum:
	default:
		err = fail.Errorf(fail.Check, "shares of another plan are built for this job already (%s discards it)", setting.Restart)
	}
	if err == nil {
		_, err = shares.Write(ctx, j.env, j.o.PlanTo)
	}
	if err == nil {
		j.o.Events.Note("plan for shares", "file", j.o.PlanTo, "regions", shares.Regions(), "splits", len(shares.Parts), "staging", j.st.Plan.Staging)
	}
	return err
}

// merged takes the files that merges of shares have written. Each is read as a whole.
func (j *run) merged(ctx context.Context, out build.Output) (*manifest.Manifest, error) {
	m, err := share.MergedFiles(ctx, out.FS, out.Dir, j.st.Rekey.Shares)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail.Errorf(fail.Input, "the files of the job's shares are not all in %s: build the shares, merge, and give the command again", out.Dir)
	}
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	var work []filecheck.Target
	for _, f := range m.Files {
		work = append(work, filecheck.Target{File: f, Path: path.Join(out.Dir, f.Name)})
	}
	damaged, err := (&filecheck.Checker{FS: out.FS, Gate: j.o.Gate, Events: j.o.Events}).All(ctx, work)
	if err != nil {
		return nil, fail.With(fail.HDFS, fmt.Errorf("read the files before they are loaded: %w", err))
	}
	for _, i := range slices.Sorted(maps.Keys(damaged)) {
		err = errors.Join(err, damaged[i])
	}
	if j.proven = err == nil; !j.proven {
		return nil, fail.With(fail.Input, fmt.Errorf("nothing was loaded: %w (remove what is in %s, and merge again)", err, out.Dir))
	}
	return m, nil
}
