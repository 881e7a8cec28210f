package bench

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Report has all measurements. Its JSON form is result.json.
type Report struct {
	Schema  int       `json:"schema"` // version of this form: 1
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	// Hidden is the memory, in bytes, at or below which a peak is unknown: the greatest Usage.Hidden of all samples.
	Hidden int64        `json:"hidden_rss_bytes"`
	Cases  []CaseReport `json:"cases"`
}

// CaseReport has the results of a case.
type CaseReport struct {
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Reference string        `json:"reference,omitempty"`
	PerRow    bool          `json:"per_row,omitempty"`
	Rounds    int           `json:"rounds"`
	Tools     []ToolReport  `json:"tools,omitempty"`
	Notes     []string      `json:"notes,omitempty"`
	Verdict   *Verdict      `json:"verdict,omitempty"` // compares today's program with the previous release
	Took      time.Duration `json:"took_ns"`
}

// ToolReport has the results of a tool. Times are in seconds, memory in bytes. The ratios are to the case's reference; those of
// times are per row if the case has PerRow.
type ToolReport struct {
	Name     string             `json:"name"`
	Rows     int64              `json:"rows"`
	Wall     Summary            `json:"wall_s"`
	CPU      Summary            `json:"cpu_s"`
	Peak     Summary            `json:"peak_rss_bytes"`
	Ratio    *Ratio             `json:"ratio,omitempty"`
	Detail   map[string]float64 `json:"detail,omitempty"` // medians
	Measured []Sample           `json:"measured"`         // in the order of the rounds
}

// Ratio compares a tool with the reference.
type Ratio struct {
	Wall Summary `json:"wall"`
	CPU  Summary `json:"cpu"`
	Peak Summary `json:"peak_rss"`
}

// The measures of a sample.
var (
	wallOf = func(s Sample) float64 { return s.Wall.Seconds() }
	cpuOf  = func(s Sample) float64 { return s.CPU().Seconds() }
	peakOf = func(s Sample) float64 { return float64(s.PeakRSS) }
)

// each returns one measure of all samples, divided by rows if that is greater than 0.
func each(samples []Sample, of func(Sample) float64, rows int64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s) / float64(max(rows, 1))
	}
	return values
}

// newCaseReport computes the results; runs are the samples of each tool of c.
func newCaseReport(c Case, runs [][]Sample) CaseReport {
	r := CaseReport{Name: c.Name, Title: c.Title, Reference: c.Reference, PerRow: c.PerRow, Rounds: max(c.Rounds, 1), Notes: c.Notes}
	reference := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == c.Reference })
	for i, t := range c.Tools {
		tr := ToolReport{
			Name: t.Name, Rows: t.Rows, Measured: runs[i], Detail: medians(runs[i]),
			Wall: summarize(each(runs[i], wallOf, 0)), CPU: summarize(each(runs[i], cpuOf, 0)), Peak: summarize(each(runs[i], peakOf, 0)),
		}
		if reference >= 0 && i != reference {
			ratio := func(of func(Sample) float64, perRow bool) Summary {
				rows, base := int64(0), int64(0)
				if perRow {
					rows, base = t.Rows, c.Tools[reference].Rows
				}
				return ratioOf(each(runs[i], of, rows), each(runs[reference], of, base))
			}
			tr.Ratio = &Ratio{Wall: ratio(wallOf, c.PerRow), CPU: ratio(cpuOf, c.PerRow), Peak: ratio(peakOf, false)}
		}
		r.Tools = append(r.Tools, tr)
	}
	named := func(name string) int { return slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name }) }
	if today, before := named(c.Today), named(c.Baseline); today >= 0 && before >= 0 {
		r.Verdict = newVerdict(c.Baseline, runs[today], runs[before])
	}
	return r
}

// medians returns the median of each detail over the samples that have it.
func medians(samples []Sample) map[string]float64 {
	values := map[string][]float64{}
	for _, s := range samples {
		for name, v := range s.Detail {
			values[name] = append(values[name], v)
		}
	}
	out := make(map[string]float64, len(values))
	for name := range maps.Keys(values) {
		out[name] = summarize(values[name]).Median
	}
	return out
}

// Write writes result.json and result.md into dir.
func (r *Report) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "result.json"), append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "result.md"), []byte(r.Markdown()), 0o644)
}

// Add adds a case.
func (r *Report) Add(c CaseReport) {
	r.Cases = append(r.Cases, c)
	for _, t := range c.Tools {
		for _, s := range t.Measured {
			r.Hidden = max(r.Hidden, s.Hidden)
		}
	}
}
