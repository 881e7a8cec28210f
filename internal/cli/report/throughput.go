package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// chart shows rates over the job's time.
type chart struct {
	ID, Title, Desc string
	Top             string // top value of the axis
	Half            string
	Lines           []line
	Ticks           []tick
	Rows            []chartRow
}

// line is one rate. Path is in a field of 1000 by 100 units.
type line struct {
	Name, Class, Path string
	Peak              string
}

type chartRow struct {
	At     string
	Values []string
}

// series is a number that increases over time.
type series struct {
	name string
	of   func(sample) int64
}

// tableRows is the number of rows of a chart's table.
const tableRows = 30

func newCharts(r *document) []chart {
	if len(r.Samples) < 2 || !r.Ended.After(r.Began) {
		return nil
	}
	var charts []chart
	add := func(id, title string, text func(float64) string, unit float64, all ...series) {
		if c, ok := newChart(r, id, title, text, unit, all); ok {
			charts = append(charts, c)
		}
	}
	add("rows", "Rows per second", rate, 1000,
		series{"read", func(s sample) int64 { return s.Read }}, series{"written", func(s sample) int64 { return s.Merged }},
		series{"verified", func(s sample) int64 { return s.Verified }})
	add("bytes", "Bytes per second", func(v float64) string { return bytesText(int64(v)) }, 1024,
		series{"input read", func(s sample) int64 { return s.Input }}, series{"HFiles written", func(s sample) int64 { return s.Output }})
	return charts
}

// newChart draws the series that have increased; it returns false if there are none.
func newChart(r *document, id, title string, text func(float64) string, unit float64, all []series) (chart, bool) {
	c := chart{ID: id, Title: title, Ticks: timeTicks(r.Ended.Sub(r.Began))}
	last := r.Samples[len(r.Samples)-1]
	top := 0.0
	var used []series
	var rates [][]float64
	var peaks []string
	for _, s := range all {
		if s.of(last) == 0 {
			continue
		}
		v := s.rates(r.Samples)
		peak := slices.Max(v)
		top = max(top, peak)
		used, rates, peaks = append(used, s), append(rates, v), append(peaks, fmt.Sprintf("%s at most %s/s", s.name, text(peak)))
	}
	if top == 0 {
		return c, false
	}
	top = niceTop(top, unit)
	c.Top, c.Half = text(top)+"/s", text(top/2)+"/s"
	c.Desc = strings.Join(peaks, ", ")
	for i, s := range used {
		c.Lines = append(c.Lines, line{Name: s.name, Class: fmt.Sprintf("s%d", i+1), Path: stepPath(r, rates[i], top), Peak: peaks[i]})
	}
	c.Rows = chartRows(r, used, text)
	return c, true
}

func (s series) rates(samples []sample) []float64 {
	v := make([]float64, len(samples)-1)
	for i := range v {
		if d := samples[i+1].At.Sub(samples[i].At).Seconds(); d > 0 {
			// Rows that are written again are first subtracted.
			v[i] = max(float64(s.of(samples[i+1])-s.of(samples[i]))/d, 0)
		}
	}
	return v
}

// stepPath draws a rate as steps, since each rate is a mean over the time between two samples. It draws nothing where
// the rate is 0.
func stepPath(r *document, rates []float64, top float64) string {
	var b strings.Builder
	drawing := false
	for i, v := range rates {
		if v > 0 {
			if !drawing {
				fmt.Fprintf(&b, "M%.1f 100", 10*place(r.Samples[i].At, r))
			}
			fmt.Fprintf(&b, "V%.1fH%.1f", 100-100*v/top, 10*place(r.Samples[i+1].At, r))
		} else if drawing {
			b.WriteString("V100")
		}
		drawing = v > 0
	}
	if drawing {
		b.WriteString("V100")
	}
	return b.String()
}

// niceTop returns a round number that is at least v. Successive units differ by a factor of 1000 or 1024.
func niceTop(v, unit float64) float64 {
	scale := 1.0
	for v/scale >= unit {
		scale *= unit
	}
	step := 1.0
	for step*10 < v/scale {
		step *= 10
	}
	for _, m := range []float64{1, 2, 3, 4, 5, 6, 8} {
		if step*m >= v/scale {
			return scale * step * m
		}
	}
	return scale * step * 10
}

// chartRows returns the figures of the chart, combined into a few rows.
func chartRows(r *document, all []series, text func(float64) string) []chartRow {
	n := len(r.Samples)
	step := max((n-1+tableRows-1)/tableRows, 1)
	var rows []chartRow
	for i := 0; i+1 < n; i += step {
		from, to := r.Samples[i], r.Samples[min(i+step, n-1)]
		row := chartRow{At: formatDuration(from.At.Sub(r.Began)) + " – " + formatDuration(to.At.Sub(r.Began))}
		for _, s := range all {
			row.Values = append(row.Values, text(s.rates([]sample{from, to})[0])+"/s")
		}
		rows = append(rows, row)
	}
	return rows
}

// downsample drops every second sample except the last if there are more than most, so that a job of any length has a
// bounded number of samples. It returns the factor by which the time between samples has grown: 1 or 2.
func downsample(samples []sample, most int) ([]sample, time.Duration) {
	if len(samples) <= most {
		return samples, 1
	}
	kept := samples[:0]
	for i, s := range samples {
		if i%2 == 0 || i == len(samples)-1 {
			kept = append(kept, s)
		}
	}
	return kept, 2
}
