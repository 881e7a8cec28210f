package planview

import (
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/ui"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/mapreduce"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// A Plan is an estimate, with the prediction of a job on YARN, and the description of a job that replaces.
type Plan struct {
	*estimate.Estimate
	YARN    *mapreduce.Prediction `json:"yarn,omitempty"`
	Replace *replace.Plan         `json:"replace,omitempty"`
}

// Print prints the plan for people, in lines that are as wide as a terminal.
func (p *Plan) Print(w io.Writer, width int) {
	printEstimate(w, p.Estimate, width)
	printYARN(w, p.YARN)
	printReplace(w, p.Replace)
}

// PrintSplits prints the suggested split points: one a line, or for several tables the form that --table-splits accepts.
func (p *Plan) PrintSplits(w io.Writer) {
	for _, t := range p.All() {
		if len(p.Tables) > 0 {
			fmt.Fprintf(w, "%s=%s\n", t.Table, partition.List(t.Splits))
			continue
		}
		for _, s := range t.Splits {
			fmt.Fprintln(w, rowkey.String(s))
		}
	}
}

func printYARN(w io.Writer, p *mapreduce.Prediction) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "\nyarn: %s of %d MiB and %s of %d MiB, about %s shuffled, %s of processor time\n",
		setting.Count(p.Maps, "map"), p.MapMemory, setting.Count(p.Reduces, "reduce"), p.ReduceMemory, setting.Bytes(p.ShuffleBytes), ui.Round(p.CoreTime))
}

func printReplace(w io.Writer, r *replace.Plan) {
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
			"and refuses more than %s\n", gone, limitText(r.MaxDeletes))
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
	fmt.Fprintf(w, "\nreplace: %s%d of the table's %s (%.2f%%) are not in the export and would be %s (%s)\nrun %s at most %s\n", about, p.Deleted, setting.Count(p.Rows, "row"), share, gone, how, verdict, limitText(r.MaxDeletes))
}

func limitText(deletes string) string {
	if strings.HasSuffix(deletes, "%") {
		return deletes + " of the rows before"
	}
	return deletes + " rows"
}
