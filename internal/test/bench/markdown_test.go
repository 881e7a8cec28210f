package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown returns the report as a document: the machine, then the tables of each case.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nMeasured %s. Peaks of memory at or below %s MiB are unknown: that is what the measuring process had when it started the others.\n",
		r.Machine, r.Started.UTC().Format("2006-01-02 15:04 MST"), mib(float64(r.Hidden)))
	for i := range r.Cases {
		b.WriteString("\n" + r.Cases[i].Markdown())
	}
	return b.String()
}

// Markdown returns the tables of a case: the measurements, and the figures that the tools reported.
func (c *CaseReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n", c.Name, c.Title)
	if len(c.Tools) > 0 {
		c.measured(&b)
		c.details(&b)
	}
	if line := c.Line(); line != "" {
		fmt.Fprintf(&b, "**%s**\n\n", line)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	return b.String()
}

func (c *CaseReport) measured(b *strings.Builder) {
	head := []string{"tool", "rows", "wall s", "CPU s", "peak MiB"}
	if c.PerRow {
		head = append(head, "wall ns/row")
	}
	if c.Reference != "" {
		per := ""
		if c.PerRow {
			per = " a row"
		}
		head = append(head, "wall"+per+" ÷ "+c.Reference, "CPU"+per+" ÷", "peak ÷")
	}
	var rows [][]string
	for _, t := range c.Tools {
		row := []string{t.Name, grouped(t.Rows), span(t.Wall, seconds), span(t.CPU, seconds), span(t.Peak, mib)}
		if c.PerRow {
			row = append(row, fmt.Sprintf("%.0f", t.Wall.Median*1e9/float64(max(t.Rows, 1))))
		}
		switch {
		case c.Reference == "":
		case t.Ratio == nil:
			row = append(row, "1", "1", "1")
		default:
			row = append(row, ratio(t.Ratio.Wall), ratio(t.Ratio.CPU), ratio(t.Ratio.Peak))
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(b, "Minimum / **median** / maximum of %d rounds", c.Rounds)
	if c.Reference != "" {
		b.WriteString("; ratios are of the medians, in brackets the least and the greatest of a round")
	}
	b.WriteString(".\n\n")
	table(b, head, rows)
}

func (c *CaseReport) details(b *strings.Builder) {
	names := map[string]bool{}
	for _, t := range c.Tools {
		for name := range t.Detail {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return
	}
	order := slices.Sorted(maps.Keys(names))
	var rows [][]string
	for _, t := range c.Tools {
		row := []string{t.Name}
		for _, name := range order {
			cell := ""
			if v, ok := t.Detail[name]; ok {
				cell = fmt.Sprintf("%.4g", v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	b.WriteString("Medians of what the tools report of themselves:\n\n")
	table(b, append([]string{"tool"}, order...), rows)
}

// table writes a table and an empty line. The first column is text, the others are numbers.
func table(b *strings.Builder, head []string, rows [][]string) {
	fmt.Fprintf(b, "| %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteString("\n")
}

func seconds(v float64) string { return fmt.Sprintf("%.2f", v) }

func mib(v float64) string { return fmt.Sprintf("%.0f", v/(1<<20)) }

func span(s Summary, text func(float64) string) string {
	return text(s.Min) + " / **" + text(s.Median) + "** / " + text(s.Max)
}

func ratio(s Summary) string {
	if s == (Summary{}) {
		return "–"
	}
	return fmt.Sprintf("**%.2f** (%.2f–%.2f)", s.Median, s.Min, s.Max)
}

// grouped formats 1234567 as 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
