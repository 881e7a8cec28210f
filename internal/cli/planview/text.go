package planview

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/internal/cli/ui"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

const (
	textLines = 40 // lines of regions in a text; more regions are combined
	minBar    = 10
	maxStart  = 24 // columns of a region's start key
)

func printEstimate(w io.Writer, e *estimate.Estimate, width int) {
	if len(e.Tables) > 0 && e.Rows > 0 {
		printTables(w, e, width)
		return
	}
	if e.Rows == 0 {
		fmt.Fprintf(w, "%s without a record: nothing to load\n", setting.Count(e.Files, "file"))
		return
	}
	fmt.Fprintf(w, "%s from %s with %s, %s\n", rowsText(e), setting.Count(e.Files, "file"), setting.Bytes(e.InputBytes), regionsText(e))
	printReading(w, e.Reading)
	printTotals(w, e, e.HFiles, e.HFileBytes, e.SpillBytes, e.WriteTime)
	fmt.Fprintf(w, "  keys    %s\n", keyText(e.KeyLength))
	fmt.Fprintf(w, "sizes and times are estimated from %s of %s, regions from %s\n\n", setting.Count(e.SampledRows, "row"), setting.Count(e.Places, "place"), countedText(e))
	printRegions(w, e, width)
	printWarnings(w, e.Warnings)
}

func printTables(w io.Writer, e *estimate.Estimate, width int) {
	tables := e.All()
	files, bytes, spill, write := 0, int64(0), int64(0), time.Duration(0)
	for _, t := range tables {
		files, bytes, spill, write = files+t.HFiles, bytes+t.HFileBytes, spill+t.SpillBytes, write+t.WriteTime
	}
	fmt.Fprintf(w, "%s, by one reading of %s with %s\n", setting.Count(len(tables), "table"), setting.Count(e.Files, "file"), setting.Bytes(e.InputBytes))
	printReading(w, e.Reading)
	printTotals(w, e, files, bytes, spill, write)
	fmt.Fprintf(w, "sizes and times are estimated from %s of %s, regions from %s\n", setting.Count(e.SampledRows, "record"), setting.Count(e.Places, "place"), countedText(e))
	for _, t := range tables {
		name := "table " + t.Table
		if t.Index != "" {
			name = fmt.Sprintf("index %s in table %s", t.Index, t.Table)
		}
		fmt.Fprintf(w, "\n%s: %s, %s\n", name, rowsText(t), regionsText(t))
		fmt.Fprintf(w, "  hfiles  %d with %s, written in %s\n", t.HFiles, setting.Bytes(t.HFileBytes), ui.Round(t.WriteTime))
		if t.Spills {
			fmt.Fprintf(w, "  spill   %s\n", setting.Bytes(t.SpillBytes))
		}
		fmt.Fprintf(w, "  keys    %s\n\n", keyText(t.KeyLength))
		printRegions(w, t, width)
		printWarnings(w, t.Warnings)
	}
}

// printTotals prints the files, time and memory of a build. The numbers that it is given are the sums of all tables.
func printTotals(w io.Writer, e *estimate.Estimate, files int, bytes, spill int64, write time.Duration) {
	fmt.Fprintf(w, "  hfiles  %d with %s\n", files, setting.Bytes(bytes))
	fmt.Fprintf(w, "  time    %s: read and sort %s, write %s, with %s\n", ui.Round(e.Time()), ui.Round(e.ReadTime), ui.Round(write), setting.Count(e.Workers, "worker"))
	fmt.Fprintf(w, "  memory  %s at the peak\n", setting.Bytes(e.Memory))
	if e.Spills {
		fmt.Fprintf(w, "  spill   %s in %s; with %s more memory nothing would be spilled\n", setting.Bytes(spill), setting.Count(e.Runs, "run"), setting.Bytes(e.MoreMemory))
	} else {
		fmt.Fprintln(w, "  spill   none: all rows fit in memory")
	}
}

func rowsText(e *estimate.Estimate) string {
	about := "about "
	if e.Exact {
		about = ""
	}
	return fmt.Sprintf("%s%s (about %s)", about, setting.Count(e.Rows, "row"), setting.Count(e.Cells, "cell"))
}

// regionsText returns the number of regions that get rows as text.
func regionsText(e *estimate.Estimate) string {
	used := 0
	for _, r := range e.Regions {
		if r.Rows > 0 {
			used++
		}
	}
	return fmt.Sprintf("into %d of %s", used, setting.Count(len(e.Regions), "region"))
}

func keyText(l estimate.Lengths) string {
	if l.Min == l.Max {
		return setting.Count(l.Max, "byte")
	}
	return fmt.Sprintf("%d to %s, %.1f on average", l.Min, setting.Count(l.Max, "byte"), l.Mean)
}

func countedText(e *estimate.Estimate) string {
	if e.Exact {
		return "all of them"
	}
	return fmt.Sprintf("%s of %s", setting.Count(e.CountedRows, "row"), setting.Count(e.CountPlaces, "place"))
}

// shareLine is one region, or several adjacent regions that share a line.
type shareLine struct {
	first, last int
	start       string
	rows, bytes int64
	share       float64
	most        float64 // the largest share of one of the regions
}

// shareLines combines adjacent regions until there are at most the given number of lines.
func shareLines(regions []estimate.RegionEstimate, most int) []shareLine {
	each := (len(regions) + most - 1) / most
	var lines []shareLine
	at := 0
	for part := range slices.Chunk(regions, each) {
		l := shareLine{first: at + 1, last: at + len(part), start: rowkey.String(part[0].Start)}
		for _, r := range part {
			l.rows, l.bytes, l.share, l.most = l.rows+r.Rows, l.bytes+r.Bytes, l.share+r.Share, max(l.most, r.Share)
		}
		lines = append(lines, l)
		at += len(part)
	}
	return lines
}

func (l *shareLine) name() string {
	if l.first == l.last {
		return strconv.Itoa(l.first)
	}
	return fmt.Sprintf("%d-%d", l.first, l.last)
}

// shareText formats a share in percent, with the number of digits that n regions need.
func shareText(share float64, n int) string {
	digits := 1
	if n > 50 {
		digits = 2
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + "%"
}

// printRegions prints a table with a bar for each region's share. Where regions share a line, the bar shows the
// largest share among them.
func printRegions(w io.Writer, e *estimate.Estimate, width int) {
	lines := shareLines(e.Regions, textLines)
	together := len(lines) < len(e.Regions)
	rows := [][]string{{"region", "from", "rows", "bytes", "share"}}
	if together {
		rows[0] = append(rows[0], "largest")
	}
	greatest := 0.0
	for _, l := range lines {
		row := []string{l.name(), ui.Cut(l.start, maxStart), strconv.FormatInt(l.rows, 10), setting.Bytes(l.bytes), shareText(l.share, len(e.Regions))}
		if together {
			row = append(row, shareText(l.most, len(e.Regions)))
		}
		rows = append(rows, row)
		greatest = max(greatest, l.most)
	}
	widths := make([]int, len(rows[0]))
	room := width
	for c := range widths {
		for _, row := range rows {
			widths[c] = max(widths[c], utf8.RuneCountInString(row[c]))
		}
		room -= widths[c] + 2
	}
	for i, row := range rows {
		var b strings.Builder
		for c, text := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
			if c <= 1 {
				b.WriteString(text + pad + "  ")
			} else {
				b.WriteString(pad + text + "  ")
			}
		}
		if i > 0 && room >= minBar {
			b.WriteString(bar(lines[i-1].most/max(greatest, math.SmallestNonzeroFloat64), room))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// bar draws a fraction of a width in eighths of a character. Every fraction above 0 is visible.
func bar(part float64, width int) string {
	eighths := int(part*float64(8*width) + 0.5)
	if part > 0 {
		eighths = max(eighths, 1)
	}
	b := strings.Repeat("█", eighths/8)
	if n := eighths % 8; n > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[n-1])
	}
	return b
}

func printWarnings(w io.Writer, warnings []preflight.Check) {
	for _, c := range warnings {
		fmt.Fprintf(w, "\n%s: %s: %s\n", c.Severity, c.Name, c.Message)
		if !c.Hint.IsZero() {
			fmt.Fprintf(w, "  -> %s\n", c.Hint)
		}
	}
}

// maxWays is the number of read methods, and of groups of different files, that a plan lists.
const maxWays = 10

func printReading(w io.Writer, r *progress.Reading) {
	if r == nil {
		return
	}
	for _, way := range r.Ways[:min(len(r.Ways), maxWays)] {
		fmt.Fprintf(w, "  read    %s as %s\n", setting.Count(way.Files, "file"), way)
	}
	if n := len(r.Ways) - maxWays; n > 0 {
		fmt.Fprintf(w, "          and in %s\n", setting.Count(n, "more way"))
	}
	if len(r.Partitions) > 0 {
		fmt.Fprintf(w, "  by path %s\n", r.ByPath())
	}
	printDiffering(w, "missing from", r.Lacking)
	printDiffering(w, "not listed by the job, in", r.PassedOver)
}

func printDiffering(w io.Writer, what string, list []progress.FileColumns) {
	for _, l := range list[:min(len(list), maxWays)] {
		columns, files := l.Text()
		fmt.Fprintf(w, "  columns %s, %s %s: %s\n", columns, what, setting.Count(len(l.Files), "file"), files)
	}
	if len(list) > maxWays {
		fmt.Fprintf(w, "          and others, %s %s\n", what, setting.Count(progress.CountFiles(list[maxWays:]), "more file"))
	}
}
