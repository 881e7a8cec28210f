package main

import (
	"bufio"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"

	"bulkload/pkg/job"
)

//go:embed plan.svg.tmpl
var planSVG string

// svgLines is how many bars a picture has; more regions are put together.
const svgLines = 60

// svgChart is what the template draws. Lengths are in pixels.
type svgChart struct {
	Title, Subtitle string
	Width, Height   int
	BarLeft         int
	Fair            float64 // where the fair share lies
	FairText        string
	Bars            []svgBar
}

type svgBar struct {
	Y              int
	Label, Numbers string
	Width          float64
	NumbersX       float64
	Heavy          bool
	Title          string
}

const (
	svgWidth = 960
	svgTop   = 92
	svgStep  = 20
	svgRight = 250 // for the numbers behind a bar
)

// writeSVG draws the regions into a file.
func writeSVG(name string, e *job.Estimate) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return usageError{fmt.Errorf("--svg: %w", err)}
	}
	w := bufio.NewWriter(f)
	if err = drawSVG(w, e); err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func drawSVG(w io.Writer, e *job.Estimate) error {
	t, err := template.New("plan").Funcs(template.FuncMap{"xml": xmlText, "px": func(v float64) string { return fmt.Sprintf("%.1f", v) }}).Parse(planSVG)
	if err != nil {
		return err
	}
	return t.Execute(w, newChart(e))
}

// xmlText escapes a text for an element or an attribute; what XML cannot hold
// becomes U+FFFD.
func xmlText(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

func newChart(e *job.Estimate) *svgChart {
	lines := shareLines(e.Regions, svgLines)
	about := "about "
	if e.Exact {
		about = ""
	}
	c := &svgChart{Title: "Rows of each region", Width: svgWidth, BarLeft: 60, Height: svgTop + len(lines)*svgStep + 24}
	if e.Table != "" {
		c.Title += " of table " + e.Table
	}
	c.Subtitle = fmt.Sprintf("key %s · %s%d rows · %s of HFiles · %d regions", e.Key, about, e.Rows, bytesText(e.HFileBytes), len(e.Regions))
	fair := 1 / float64(len(e.Regions))
	greatest, longest := fair, 0
	for _, l := range lines {
		greatest = max(greatest, l.most)
		longest = max(longest, len([]rune(svgLabel(&l))))
	}
	c.BarLeft = 24 + 8*longest
	scale := float64(svgWidth-svgRight-c.BarLeft) / greatest
	c.Fair, c.FairText = float64(c.BarLeft)+fair*scale, "fair share "+shareText(fair, len(e.Regions))
	for i, l := range lines {
		b := svgBar{Y: svgTop + i*svgStep, Label: svgLabel(&l), Width: l.most * scale, Heavy: l.most > 2*fair}
		b.NumbersX = float64(c.BarLeft) + b.Width + 8
		b.Numbers = fmt.Sprintf("%s · %s · %d rows", shareText(l.share, len(e.Regions)), bytesText(l.bytes), l.rows)
		b.Title = fmt.Sprintf("region %s from %s: %s", l.name(), l.start, b.Numbers)
		if l.last > l.first {
			b.Title += fmt.Sprintf(", the largest has %s", shareText(l.most, len(e.Regions)))
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

func svgLabel(l *shareLine) string {
	return strings.TrimRight(l.name()+"  "+cut(l.start, 16), " ")
}
