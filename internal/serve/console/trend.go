package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/pkg/setting"
)

// maxNights is the number of jobs in a trend, the last ones.
const maxNights = 30

// Trend has the results of the finished jobs of a table, the oldest first.
type Trend struct {
	Table  string
	Nights []Night
}

// Night is the result of one job.
type Night struct {
	Job      string
	Ended    time.Time
	Rows     int64
	Rejected int64
	Seconds  float64
}

// Trends returns the trends of all tables with a finished job, sorted by name.
func Trends(jobs []*status.State) []Trend {
	by := map[string][]Night{}
	for _, s := range jobs {
		if s.State == history.JobDone && s.Result != nil && s.Table != "" {
			by[s.Table] = append(by[s.Table], Night{s.Job, s.Last, s.Rows, s.Rejected, s.Result.Elapsed.Seconds()})
		}
	}
	var all []Trend
	for _, table := range slices.Sorted(maps.Keys(by)) {
		nights := by[table]
		slices.SortStableFunc(nights, func(a, b Night) int { return a.Ended.Compare(b.Ended) })
		all = append(all, Trend{table, nights[max(0, len(nights)-maxNights):]})
	}
	return all
}

// Of returns the trend of one table; without a finished job it has no nights.
func Of(jobs []*status.State, table string) Trend {
	for _, t := range Trends(jobs) {
		if t.Table == table {
			return t
		}
	}
	return Trend{Table: table}
}

// Plot is one number of a trend as a line, in a field of [PlotWidth] by [PlotHeight].
type Plot struct {
	Points string // of the line
	X, Y   string // of the line's end
	Text   string // description in words
}

// The size of a plot.
const (
	PlotWidth  = 120
	PlotHeight = 28
	plotEdge   = 3 // margin for the dot at the line's end
)

// Rows returns the plot of the numbers of rows, or nil if there is only one job.
func (t Trend) Rows() *Plot {
	return t.plot("rows", func(n Night) float64 { return float64(n.Rows) }, func(v float64) string { return setting.Thousands(int64(v)) })
}

// Seconds returns the plot of the durations.
func (t Trend) Seconds() *Plot {
	return t.plot("seconds", func(n Night) float64 { return n.Seconds }, Span)
}

// Last returns the newest job.
func (t Trend) Last() Night { return t.Nights[len(t.Nights)-1] }

func (t Trend) plot(what string, of func(Night) float64, text func(float64) string) *Plot {
	if len(t.Nights) < 2 {
		return nil
	}
	least, most := of(t.Nights[0]), of(t.Nights[0])
	for _, n := range t.Nights {
		least, most = min(least, of(n)), max(most, of(n))
	}
	p := &Plot{Text: fmt.Sprintf("%s of the last %d jobs: %s to %s, %s in the last one", what, len(t.Nights), text(least), text(most), text(of(t.Last())))}
	var points []string
	for i, n := range t.Nights {
		share := 0.5 // if all numbers are equal
		if most > least {
			share = (of(n) - least) / (most - least)
		}
		p.X = fmt.Sprintf("%.1f", plotEdge+float64(i)*(PlotWidth-2*plotEdge)/float64(len(t.Nights)-1))
		p.Y = fmt.Sprintf("%.1f", PlotHeight-plotEdge-share*(PlotHeight-2*plotEdge))
		points = append(points, p.X+","+p.Y)
	}
	p.Points = strings.Join(points, " ")
	return p
}

// Span formats a number of seconds in readable form.
func Span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", seconds)
}
