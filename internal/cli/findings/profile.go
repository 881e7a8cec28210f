package findings

import (
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/ui"
	"bulkload/internal/formats/profile"
	"bulkload/pkg/setting"
)

// PrintProfile prints the profile of an input, if there is one.
func PrintProfile(w io.Writer, p *profile.Profile) {
	if p == nil {
		return
	}
	rest := "all of the input"
	if !p.Whole() {
		rest = fmt.Sprintf("a sample: %d of %d parts of the input", p.Parts, p.OfParts)
	}
	fmt.Fprintf(w, "profile of %s, %s", setting.Count(p.Records, "record"), rest)
	for _, n := range []struct {
		count int64
		what  string
	}{{p.Rejected, "bad"}, {p.Filtered, "left out by the filter"}} {
		if n.count > 0 {
			fmt.Fprintf(w, ", %d %s", n.count, n.what)
		}
	}
	fmt.Fprintln(w)
	for i := range p.Columns {
		printProfileColumn(w, p, &p.Columns[i])
	}
}

func printProfileColumn(w io.Writer, p *profile.Profile, c *profile.Column) {
	fmt.Fprintf(w, "  %s: %s", c.Name, c.Kind)
	if c.Layout != "" {
		fmt.Fprintf(w, " (%s)", c.Layout)
	}
	about := ""
	if c.Estimated {
		about = "about "
	}
	fmt.Fprintf(w, ", %d NULL (%.1f %%), %d empty, %s%d different\n", c.Nulls, 100*p.Share(c.Nulls), c.Empty, about, c.Distinct)
	if c.Kind == profile.None {
		return
	}
	if c.Hidden {
		fmt.Fprintf(w, "    values are hidden, %d to %d bytes\n", c.Shortest, c.Longest)
	} else {
		fmt.Fprintf(w, "    %q to %q, %d to %d bytes\n", ui.Cut(c.Min, 40), ui.Cut(c.Max, 40), c.Shortest, c.Longest)
	}
	if h := c.Histogram; h != nil && len(h.Bars) > 1 {
		fmt.Fprintf(w, "    %s from %s %s %s\n", h.Of, h.Label(h.Bars[0].From), sparkline(h.Bars), h.Label(h.Bars[len(h.Bars)-1].To))
	}
	for i, f := range c.Frequent[:min(len(c.Frequent), 5)] {
		fmt.Fprintf(w, "%s%q %d", map[bool]string{true: "    ", false: ", "}[i == 0], ui.Cut(f.Value, 40), f.Count)
	}
	switch {
	case len(c.Frequent) == 0:
	case c.FrequentError > 0:
		fmt.Fprintf(w, " times, or at most %d more\n", c.FrequentError)
	default:
		fmt.Fprintln(w, " times")
	}
}

// sparkline draws bars. The highest bar is a full block; every count above 0 is visible.
func sparkline(bars []profile.Bar) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	most := int64(1)
	for _, b := range bars {
		most = max(most, b.Count)
	}
	var line strings.Builder
	for _, b := range bars {
		if b.Count == 0 {
			line.WriteByte(' ')
			continue
		}
		line.WriteRune(blocks[(b.Count*int64(len(blocks))-1)/most])
	}
	return line.String()
}
