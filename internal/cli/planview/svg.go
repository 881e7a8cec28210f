package planview

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/estimate"
	"bulkload/pkg/setting"
)

//go:embed plan.svg.tmpl
var planSVG string

// svgLines is the number of bars of a picture; more regions are combined.
const svgLines = 60

// svgPicture is the data of the template: a chart for each table, one below the other. Lengths are in pixels.
type svgPicture struct {
	Title, About  string
	Width, Height int
	Charts        []*svgChart
}

// svgChart is the chart of one table, which begins at Top. Positions within the chart are relative to that.
type svgChart struct {
	Title, Subtitle string
	Top, Bottom     int
	From            int // where the regions' numbers end and their start keys begin, less a gap
	Left            int // left edge of the bars
	Fair            float64
	FairText        string
	Bars            []svgBar
}

// svgBar is one line: a region, or several adjacent regions.
type svgBar struct {
	Y                  int
	Name, From         string
	Width              float64
	Heavy              bool
	Share, Bytes, Rows string
	Title              string
}

const (
	svgWidth = 960
	svgTop   = 92
	svgStep  = 20
	svgRight = 300 // space for the numbers after the bars
	svgChar  = 8   // width of a character
)

// Draw draws the regions into a file, or into a device such as /dev/stdout.
func (p *Plan) Draw(name string) error {
	var b bytes.Buffer
	err := drawSVG(&b, p.Estimate)
	if info, statErr := os.Stat(name); err == nil && statErr == nil && !info.Mode().IsRegular() {
		err = os.WriteFile(name, b.Bytes(), 0)
	} else if err == nil {
		err = durable.ReplaceShared(name, b.Bytes())
	}
	if err != nil {
		return fail.With(fail.Config, settings.AboutFlags(fmt.Errorf("--svg: %w", err), "svg"))
	}
	return nil
}

func drawSVG(w io.Writer, e *estimate.Estimate) error {
	t, err := template.New("plan").Funcs(template.FuncMap{"xml": xmlText, "px": func(v float64) string { return fmt.Sprintf("%.1f", v) }}).Parse(planSVG)
	if err != nil {
		return err
	}
	return t.Execute(w, newPicture(e))
}

// xmlText escapes a text for an element or an attribute. Characters that XML does not allow become U+FFFD.
func xmlText(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

func newPicture(e *estimate.Estimate) *svgPicture {
	p := &svgPicture{Width: svgWidth}
	for _, t := range e.All() {
		c := newChart(t)
		c.Top = p.Height
		p.Height += c.Bottom
		p.Charts = append(p.Charts, c)
	}
	p.Title, p.About = p.Charts[0].Title, p.Charts[0].Subtitle
	if n := len(p.Charts); n > 1 {
		p.Title += fmt.Sprintf(" and %d more", n-1)
	}
	return p
}

func newChart(e *estimate.Estimate) *svgChart {
	lines := shareLines(e.Regions, svgLines)
	about := "about "
	if e.Exact {
		about = ""
	}
	c := &svgChart{Title: "Rows of each region", Bottom: svgTop + len(lines)*svgStep + 24}
	switch {
	case e.Index != "":
		c.Title += fmt.Sprintf(" of index %s in table %s", e.Index, e.Table)
	case e.Table != "":
		c.Title += " of table " + e.Table
	}
	c.Subtitle = fmt.Sprintf("key %s · %s%s · %s of HFiles · %s", e.Key, about, setting.Count(e.Rows, "row"), setting.Bytes(e.HFileBytes), setting.Count(len(e.Regions), "region"))
	c.Subtitle = ui.Cut(c.Subtitle, (svgWidth-2*16)/svgChar)
	fair := 1 / float64(len(e.Regions))
	greatest, name, start := fair, len("region"), len("from")
	for _, l := range lines {
		greatest = max(greatest, l.most)
		name, start = max(name, len(l.name())), max(start, utf8.RuneCountInString(ui.Cut(l.start, maxStart)))
	}
	c.From = 16 + svgChar*name
	c.Left = c.From + svgChar*(start+3)
	scale := float64(svgWidth-svgRight-c.Left) / greatest
	c.Fair, c.FairText = float64(c.Left)+fair*scale, "fair share "+shareText(fair, len(e.Regions))
	for i, l := range lines {
		b := svgBar{Y: svgTop + i*svgStep, Name: l.name(), From: ui.Cut(l.start, maxStart), Width: l.most * scale, Heavy: l.most > e.Skew*fair,
			Share: shareText(l.share, len(e.Regions)), Bytes: setting.Bytes(l.bytes), Rows: strconv.FormatInt(l.rows, 10)}
		b.Title = fmt.Sprintf("region %s from %s: %s of the rows", b.Name, l.start, b.Share)
		if l.last > l.first {
			b.Title += fmt.Sprintf(", the largest has %s", shareText(l.most, len(e.Regions)))
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}
