package jobtext

import (
	"fmt"
	"io"
	"strings"
	"time"

	"bulkload/internal/cli/ui"
	"bulkload/internal/jobs/export"
	"bulkload/internal/jobs/rekey"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// PrintComparison prints whether two tables are equal, and what differs.
func PrintComparison(w io.Writer, r *result.Comparison) {
	for i, s := range []result.ComparedSide{r.A, r.B} {
		at := ""
		if !s.Time.IsZero() {
			at = " of " + s.Time.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%c: %s (%s%s): %s, %s\n", 'A'+i, s.Name, s.As, at, setting.Count(s.Rows, "row"), setting.Count(s.Cells, "cell"))
		if s.Rejected > 0 {
			fmt.Fprintf(w, "%c: %s rejected, whose rows are not compared (%s)\n", 'A'+i, setting.Count(s.Rejected, "record"), s.RejectFile)
		}
	}
	for _, x := range r.Repairs {
		fmt.Fprintf(w, "repaired B: %s and %s in %s; before: %s\n", setting.Count(x.Cells, "cell"), setting.Count(x.Markers, "delete marker"), setting.Count(x.Files, "HFile"), x.Found)
	}
	if r.Digests != "" {
		fmt.Fprintf(w, "digests: %s of A, %s of B; of each range in %s\n", r.A.Digest, r.B.Digest, r.Digests)
	}
	if r.Equal {
		fmt.Fprintf(w, "equal, in %s\n", ui.Round(r.Elapsed))
		if r.File != "" {
			fmt.Fprintf(w, "%s listed in %s as before the repair\n", setting.Count(r.Listed, "row"), r.File)
		}
		return
	}
	d := r.Found
	fmt.Fprintf(w, "rows:  %d only in A, %d only in B, %d changed\n", d.OnlyA, d.OnlyB, d.Changed)
	fmt.Fprintf(w, "cells: %d only in A, %d only in B, %d with other values", d.CellsOnlyA, d.CellsOnlyB, d.Values)
	if d.Times > 0 {
		fmt.Fprintf(w, ", %d with other timestamps", d.Times)
	}
	fmt.Fprintf(w, "\nranges that differ: %d of %d, in %s\n", r.Different, r.Ranges, ui.Round(r.Elapsed))
	if r.File != "" {
		fmt.Fprintf(w, "%s listed in %s\n", setting.Count(r.Listed, "row"), r.File)
	}
}

// PrintExport prints what an export has written to a directory, and how long that took.
func PrintExport(w io.Writer, m *export.Manifest, to string, took time.Duration) {
	as := "from snapshot " + m.Snapshot + ","
	if m.Snapshot == "" {
		as = "read by scans since"
	}
	fmt.Fprintf(w, "done: table %s %s %s, to %s in %s\n", m.Table, as, m.Created.Format(time.RFC3339), to, ui.Round(took))
	fmt.Fprintf(w, "  %s in %s, %s\n", m.Digest, setting.Count(len(m.Files), "file"), setting.Bytes(m.Bytes))
	if m.NoCells > 0 {
		fmt.Fprintf(w, "  %s no cell in these columns: left out\n", setting.Count(m.NoCells, "row has"))
	}
	if m.LeftOver > 0 {
		fmt.Fprintf(w, "  %s in no exported column: left out\n", setting.Count(m.LeftOver, "cell is"))
	}
	if len(m.Absent) > 0 {
		fmt.Fprintf(w, "  in no row: %s\n", strings.Join(m.Absent, ", "))
	}
	if what := m.Choice.String(); what != "" {
		fmt.Fprintf(w, "  chosen: %s\n", what)
	}
	if len(m.Columns) > 0 {
		fmt.Fprintf(w, "  columns: %s\n", strings.Join(m.Columns, ", "))
	}
}

// PrintRekey prints the result of a pass, and how to switch readers to the new table.
func PrintRekey(w io.Writer, r *result.Result, q rekey.Request) {
	m := r.Manifest
	if m == nil {
		return
	}
	if r.Already {
		fmt.Fprint(w, "the job was done before: nothing to do (--restart does it again); it was: ")
	}
	fmt.Fprintf(w, "%s of table %s read, %s (%s) in %s of %s loaded into table %s in %s", setting.Count(m.Records, "row"), q.From, setting.Count(m.Digest.Rows, "row"), setting.Count(m.Digest.Cells, "cell"), setting.Count(m.HFiles, "HFile"),
		setting.Bytes(m.Bytes), q.To, r.Elapsed.Round(time.Millisecond))
	switch v := r.Verify; {
	case v == nil || v.Mode == "off":
		fmt.Fprint(w, "; not verified (--verify off)")
	case v.Expired:
		fmt.Fprint(w, "; verification inconclusive: cells expired (TTL) before the table was read")
	default:
		fmt.Fprintf(w, "; verified: a scan of table %s returns the same rows under their new keys", q.To)
	}
	for _, left := range []struct {
		n    int64
		text string
	}{{m.Duplicates, "rows left out because another row has their new key"}, {m.NoCells, "rows have no cell after the start time"}, {m.Rejected, "rows without a new key set aside in " + m.RejectFile}} {
		if left.n > 0 {
			fmt.Fprintf(w, "; %d %s", left.n, left.text)
		}
	}
	fmt.Fprintln(w)
	if k := r.Rekey; k != nil {
		old := ""
		if q.OldKey != "" {
			old = " --old-key " + ui.Quote(q.OldKey)
		}
		fmt.Fprintf(w, `
To switch readers to table %[2]s:
1. Take what was written to table %[1]s meanwhile; each pass says the time of the next one:
   bulkload rekey --from %[1]s --to %[2]s%[5]s --key %[3]s%[6]s --since %[4]d
2. Stop the writers of table %[1]s, and take the rest in the same way.
3. Have writers and readers use table %[2]s and its keys.
A pass adds cells only: rows that were deleted from table %[1]s since the snapshot stay in table %[2]s, and so does a row under
its earlier key when its key columns have changed. Table %[1]s is as it was.
`, q.From, q.To, ui.Quote(q.Key), k.Next, old, choiceText(q.Choice))
	}
}

// choiceText returns the flags of a selection that a further pass needs too.
func choiceText(a choice.Asked) (flags string) {
	for _, f := range []struct{ flag, text string }{{"from-key", a.FromKey}, {"to-key", a.ToKey}, {"key-prefix", a.KeyPrefix}, {"start-row", a.StartRow}, {"stop-row", a.StopRow}, {"row-prefix", a.RowPrefix},
		{"only", strings.Join(a.Only, ",")}} {
		if f.text != "" {
			flags += " --" + f.flag + " " + ui.Quote(f.text)
		}
	}
	return flags
}

// PrintSwitch prints how to switch readers to the new table, and how to drop the old one.
func PrintSwitch(w io.Writer, r *result.Result, jobFile string) {
	if r.Fresh == nil {
		return
	}
	flag, file := "", "the job files of readers"
	if jobFile != "" {
		flag, file = " --job "+ui.Word(jobFile), jobFile+", and in every other job file of readers"
	}
	old, now := r.Fresh.From, r.Table
	fmt.Fprintf(w, `
Table %[1]s is unchanged. To switch readers to table %[2]s:
1. In %[3]s, change "table: %[1]s" to "table: %[2]s".
   A serve that runs reads the file again some seconds later; get and scan do with their next call.
   What names table %[1]s elsewhere, such as clients of HBase's own, does not follow.
2. When table %[1]s has no readers any more:
   bulkload run%[4]s --replace --into %[2]s --drop-old %[1]s
`, old, now, file, flag)
	if len(r.Fresh.Coprocessors) > 0 {
		fmt.Fprintf(w, "Table %s has the coprocessors of table %s: %s\n", now, old, strings.Join(r.Fresh.Coprocessors, ", "))
	}
	fmt.Fprintf(w, "Table %s does not have the grants, quotas and snapshots of table %s.\n", now, old)
}
