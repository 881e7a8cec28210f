package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bulkload/internal/formats/profile"
	"bulkload/pkg/setting"
)

// Profile is a page that describes the columns of an input.
type Profile struct {
	Inputs  []string
	Version string
	At      time.Time // time at which it was read
	*profile.Profile
}

//go:embed profile.html.tmpl
var profileText string

// maxProfiled is the number of columns that a page shows: a browser does not show one of many megabytes.
const maxProfiled = 300

// Write writes the page. It shows the first columns if there are many.
func (p *Profile) Write(w io.Writer) error {
	v := profileView{Profile: p, pageHead: newPage("bulkload profile of " + strings.Join(p.Inputs, ", "))}
	for i := range min(len(p.Profile.Columns), maxProfiled) {
		v.List = append(v.List, p.column(i))
	}
	return write(w, profileText, v)
}

type profileView struct {
	*Profile
	pageHead
	List []columnView
}

type columnView struct {
	*profile.Column
	N         int
	ID        string
	NullShare float64
	Distinct  string
	Bars      *barsView
	Values    []valueBar
	Height    int // height of the values
}

// barsView is a histogram in a field of 1000 by 100 units.
type barsView struct {
	Of    string
	Path  string
	Top   string
	Ticks []tick
	Last  string // the text of the last tick
	Rows  []profile.Bar
	label func(float64) string
}

func (b *barsView) Label(x float64) string { return b.label(x) }

type valueBar struct {
	Text  string
	Count int64
	Share float64
	Width string
	Y     int
}

func (p *Profile) column(i int) columnView {
	c := &p.Profile.Columns[i]
	v := columnView{Column: c, N: i + 1, ID: fmt.Sprintf("c%d", i+1), NullShare: p.Share(c.Nulls), Distinct: setting.Thousands(c.Distinct)}
	if c.Estimated {
		v.Distinct = "about " + v.Distinct
	}
	if c.Histogram != nil && len(c.Histogram.Bars) > 1 {
		v.Bars = newBars(c.Histogram)
	}
	for k, f := range c.Frequent {
		text := fmt.Sprintf("%q", f.Value)
		if f.Cut {
			text += "…"
		}
		v.Values = append(v.Values, valueBar{text, f.Count, p.Share(f.Count), percent(100 * float64(f.Count) / float64(c.Frequent[0].Count)), k * barStep})
	}
	v.Height = len(v.Values)*barStep + 4
	return v
}

func newBars(h *profile.Histogram) *barsView {
	b := &barsView{Of: h.Of, label: h.Label}
	most := slices.MaxFunc(h.Bars, func(a, b profile.Bar) int { return cmp.Compare(a.Count, b.Count) }).Count
	b.Top = setting.Thousands(most)
	var path strings.Builder
	wide := 1000 / float64(len(h.Bars))
	for i, bar := range h.Bars {
		if bar.Count > 0 {
			fmt.Fprintf(&path, "M%.2f 100v%.2fh%.2fV100z", float64(i)*wide, -max(100*float64(bar.Count)/float64(most), 0.5), wide*0.9)
			b.Rows = append(b.Rows, bar)
		}
	}
	b.Path = path.String()
	from, to := h.Bars[0].From, h.Bars[len(h.Bars)-1].To
	b.Last = h.Label(to)
	b.Ticks = []tick{{"0%", "start", h.Label(from)}, {"100%", "end", b.Last}}
	if middle := h.Label(from/2 + to/2); len(middle) <= 12 { // a phone has space for three labels
		b.Ticks = slices.Insert(b.Ticks, 1, tick{"50%", "middle", middle})
	}
	return b
}
