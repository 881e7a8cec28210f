package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type undoOptions struct {
	clusterFlags
	state   string
	job     string
	stage   string
	options undo.Options
}

func newUndoCmd(g *globals) *cobra.Command {
	o := &undoOptions{}
	cmd := &cobra.Command{
		Use:   "undo --job JOB",
		Short: "Take one finished load out of its table again",
		Long: `Undo hides the cells of one load, which all have the job's timestamp, with delete
markers of exactly that timestamp: older versions become visible again. It reads a
snapshot of the table from HDFS, says what it will remove and what becomes visible,
and loads the markers as HFiles. --dry-run stops after the prediction. With several
tables, indexes are first and the job's own table is last, so that readers see no
entry of an index whose row is gone.

Undo refuses, with exit status 3 and without changing any table, if data could be lost:
if the cells of the timestamp are not those that the job wrote, or if a compaction may
have dropped what they had overwritten.

--by snapshot restores a snapshot from before the load: in place, with the table out of
service meanwhile, or --into a new table. A restore in place loses what others have
written since: undo counts it, and refuses with 3 unless --discard-writes is given.

After a crash the same command resumes. The timestamp is never used again for the
table: run refuses it.`,
		Example: `  bulkload undo --job check-0123456789ab-cdef01234567 --dry-run
  bulkload undo --job check-0123456789ab-cdef01234567
  bulkload undo --job check-0123456789ab-cdef01234567 --by snapshot --into check_before`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	u := &o.options
	settings.Bind(f, settings.To{"state": &o.state, "job": &o.job, "staging": &u.Staging, "load-mode": &o.stage, "load-concurrency": &u.LoadConcurrency, "verify": &u.Verify, "dry-run": &u.DryRun, "by": &u.By,
		"snapshot": &u.Snapshot, "into": &u.Into, "discard-writes": &u.Discard, "insert-only": &u.InsertOnly, "lock-wait": &u.LockWait})
	return cmd
}

func (o *undoOptions) run(cmd *cobra.Command, g *globals) error {
	u := &o.options
	u.Stage, _ = loader.ParseStage(o.stage) // the setting accepts only valid values
	if err := abilities.Verifies(abilities.Undo, u.Verify, "full", "range"); err != nil {
		return fail.Usage(settings.AboutFlags(settings.SpokenError(cmd, err), "verify"))
	}
	if u.By != undo.BySnapshot && (u.Snapshot != "" || u.Into != "" || u.Discard) {
		return fail.Usage(settings.AboutFlags(errors.New("--snapshot, --into and --discard-writes need --by snapshot"), "by", "snapshot", "into", "discard-writes"))
	}
	if u.By == undo.BySnapshot && u.InsertOnly {
		return fail.Usage(settings.AboutFlags(errors.New("--insert-only is about markers: --by snapshot compares the table with the snapshot"), "by", "insert-only"))
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		dir, err := jobDir(cmd.Context(), env, o.state, o.job)
		if err != nil {
			return err
		}
		u.Version, u.Events = version, session.LogEvents(env.Log)
		r, err := undo.Run(cmd.Context(), env, dir, *u)
		if r != nil {
			for i, why := range r.Refused {
				r.Refused[i] = settings.Spoken(why)
			}
			if e := g.Print(cmd.OutOrStdout(), r, func(w io.Writer) { printUndo(w, r, err) }); e != nil {
				return e
			}
		}
		return err
	})
}

func printUndo(w io.Writer, r *result.Undo, err error) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	if r.Timestamp != 0 { // otherwise nothing distinguishes the load's cells
		line("timestamp", "%d (%s)", r.Timestamp, time.UnixMilli(r.Timestamp).UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	markers, files, bytes := int64(0), 0, int64(0)
	for _, t := range append([]*result.Undo{r}, r.Tables...) {
		markers, files, bytes = markers+t.Markers, files+t.Files, bytes+t.Bytes
		if t.Index != "" {
			line("index", "%s in table %s", t.Index, t.Table)
		} else {
			line("table", "%s", t.Table)
		}
		s := t.Survey
		if s == nil {
			continue
		}
		line("load", "%s, %s", setting.Count(s.Load.Rows, "row"), setting.Count(s.Load.Cells, "cell"))
		line("removes", "%s that readers see; %d more are hidden by newer ones", setting.Count(s.CellsSeen, "cell"), s.Load.Cells-s.CellsSeen)
		line("restores", "%s in %s", setting.Count(s.CellsRestored, "older cell"), setting.Count(s.RowsRestored, "row"))
		line("vanish", "%s without any other visible cell", setting.Count(s.RowsGone, "row"))
		for _, f := range s.Families {
			line("family", "%s: %s, %s, %d of them written again by a compaction, versions kept: %d", f.Family, setting.Count(f.Rows, "row"), setting.Count(f.Cells, "cell"), f.Compacted, f.Versions)
		}
	}
	if r.Restore != nil {
		printRestore(line, r)
	}
	for _, why := range r.Refused {
		line("refused", "%s", why)
	}
	if r.Before != "" {
		line("snapshot", "%s, from before the load", r.Before)
	}
	switch {
	case r.Already && r.Into != "":
		line("made", "table %s, at %s already", r.Into, r.DoneAt.Local().Format(time.DateTime))
	case r.Already:
		line("undone", "at %s already", r.DoneAt.Local().Format(time.DateTime))
	case err != nil:
	case r.DryRun && r.Restore != nil:
		line("dry run", "nothing was changed")
	case r.Into != "":
		line("made", "table %s, as table %s was before the load, in %s; verified: %s", r.Into, r.Table, r.Elapsed.Round(time.Millisecond), r.Verify)
	case r.Restore != nil:
		line("undone", "by snapshot %s in %s; verified: %s", r.Before, r.Elapsed.Round(time.Millisecond), r.Verify)
	case r.DryRun:
		line("dry run", "nothing was changed; no other cells would be lost")
	default:
		line("undone", "by %s in %s, %s, in %s; verified: %s", setting.Count(markers, "marker"), setting.Count(files, "file"), setting.Bytes(bytes), r.Elapsed.Round(time.Millisecond), r.Verify)
	}
}

// printRestore prints the effects of restoring a table.
func printRestore(line func(name, format string, args ...any), r *result.Undo) {
	s := r.Restore
	if r.Into == "" {
		line("removes", "%s of the load that readers see", setting.Count(s.Removed, "cell"))
		line("restores", "%s that the load has overwritten", setting.Count(s.Restored, "older cell"))
		line("loses", "%s that others wrote since the snapshot, and %s by others, in %s", setting.Count(s.Written, "cell"), setting.Count(s.Deleted, "delete"), setting.Count(s.Rows, "row"))
	}
	line("then", "%s, %s", setting.Count(s.Before.Rows, "row"), setting.Count(s.Before.Cells, "cell"))
}
