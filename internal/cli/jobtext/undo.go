package jobtext

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// PrintUndo prints what an undo has done, or would do; err is its error.
func PrintUndo(w io.Writer, r *result.Undo, err error) {
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

// PrintSurvey prints what a load has changed in each of its tables.
func PrintSurvey(out io.Writer, s *result.Survey) {
	printTable(out, s)
	for _, t := range s.Tables {
		fmt.Fprintln(out)
		printTable(out, t)
	}
}

func printTable(out io.Writer, s *result.Survey) {
	fmt.Fprintf(out, "table %s, timestamp %d: %s, %s\n", s.Table, s.Timestamp, setting.Count(s.Load.Rows, "row"), setting.Count(s.Load.Cells, "cell"))
	fmt.Fprintf(out, "rows:  %d added, %d were there before\n", s.RowsAdded, s.RowsOverwritten)
	fmt.Fprintf(out, "cells: %d added, %d overwritten, %d of them with the value that was there before; %d are visible now\n", s.CellsAdded, s.CellsOverwritten, s.CellsUnchanged, s.CellsSeen)
	for _, f := range s.Families {
		if f.Compacted > 0 {
			fmt.Fprintf(out, "family %s: a compaction rewrote %d of %s and keeps %s; cells whose older version it dropped count as added\n", f.Family, f.Compacted, setting.Count(f.Cells, "cell"), setting.Count(f.Versions, "version"))
		}
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "REGION\tROWS\tCELLS\tADDED\tOVERWRITTEN")
	for _, r := range s.Regions {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\n", r.Region, r.Rows, r.Cells, r.Added, r.Overwritten)
	}
	w.Flush()
	for _, r := range s.Regions {
		for _, k := range r.Keys {
			what := "added"
			if k.Overwritten {
				what = "overwritten"
			}
			fmt.Fprintf(out, "%-11s %s\n", what, k.Row)
		}
	}
}
