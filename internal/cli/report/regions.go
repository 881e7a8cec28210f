package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of the charts and tables of regions.
const (
	maxBars   = 40   // bars with keys; more regions become a dense chart
	maxDense  = 1000 // columns of a dense chart; more regions are combined
	maxListed = 2000 // in the table of all regions
	topListed = 10
	barStep   = 34 // pixels
)

// spread is the distribution of rows and bytes over the regions.
type spread struct {
	Regions   []numbered
	Total     int64 // bytes
	TotalRows int64
	Mean      float64
	MaxMean   float64
	Gini      float64
	Empty     int
	Largest   numbered
	Verdict   string
	Uneven    bool

	Height int         // of the bars
	Bars   []regionBar // nil: too many regions
	Dense  *dense
	Top    []numbered
	Listed bool // the table has all regions
}

// numbered is a region with its number, from 1.
type numbered struct {
	region
	N     int
	Name  string
	Share float64 // share of the bytes
}

type regionBar struct {
	numbered
	Y     int
	Width string
	Heavy bool
}

// dense is a chart of columns in a field of 1000 by 100 units.
type dense struct {
	Path, Heavy string
	MeanY       string // percent
	Top, Mean   string
	Ticks       []tick
	Each        int // regions in a column
}

// heavy is the multiple of the mean above which a region is highlighted.
const heavy = 2

func newSpread(regions []region) *spread {
	if len(regions) == 0 {
		return nil
	}
	s := &spread{Listed: len(regions) <= maxListed}
	sizes := make([]int64, len(regions))
	for i, r := range regions {
		sizes[i] = r.Bytes
		s.Total += r.Bytes
		s.TotalRows += r.Rows
		if r.Files == 0 {
			s.Empty++
		}
	}
	if s.Total == 0 {
		return nil
	}
	for i, r := range regions {
		name := cmp.Or(r.Start, "(not shown)")
		if i == 0 {
			name = "the start"
		}
		s.Regions = append(s.Regions, numbered{r, i + 1, name, float64(r.Bytes) / float64(s.Total)})
	}
	s.Mean = float64(s.Total) / float64(len(regions))
	byBytes := slices.Clone(s.Regions)
	slices.SortStableFunc(byBytes, func(a, b numbered) int { return cmp.Compare(b.Bytes, a.Bytes) })
	s.Largest, s.MaxMean, s.Gini = byBytes[0], float64(byBytes[0].Bytes)/s.Mean, gini(sizes)
	s.Uneven = s.MaxMean > heavy && len(regions) > 1
	s.Verdict = "The load is even: no region has more than twice the mean."
	if s.Uneven {
		s.Verdict = fmt.Sprintf("The load is uneven: region %d has %.1f times the mean. Its server does most of the work, and HBase will split it first; bulkload plan proposes split points.", s.Largest.N, s.MaxMean)
	}
	if len(regions) == 1 {
		s.Verdict = "There is one region: nothing to spread."
	}
	if len(regions) <= maxBars {
		s.bars()
		return s
	}
	s.Dense = s.columns()
	s.Top = byBytes[:topListed]
	return s
}

// gini returns the Gini coefficient: 0 if all sizes are equal, near 1 if one has everything.
func gini(sizes []int64) float64 {
	v := slices.Clone(sizes)
	slices.Sort(v)
	var sum, weighted float64
	for i, x := range v {
		sum += float64(x)
		weighted += float64(i+1) * float64(x)
	}
	n := float64(len(v))
	if sum == 0 {
		return 0
	}
	return 2*weighted/(n*sum) - (n+1)/n
}

func (s *spread) bars() {
	s.Height = len(s.Regions)*barStep + 4
	for i, r := range s.Regions {
		width := 100 * float64(r.Bytes) / float64(s.Largest.Bytes)
		s.Bars = append(s.Bars, regionBar{r, i * barStep, percent(width), s.Uneven && float64(r.Bytes) > heavy*s.Mean})
	}
}

// columns draws more regions than the chart of bars can show.
func (s *spread) columns() *dense {
	each := (len(s.Regions) + maxDense - 1) / maxDense
	top := niceTop(float64(s.Largest.Bytes), 1024)
	d := &dense{Each: each, Top: bytesText(int64(top)), Mean: "mean " + bytesText(int64(s.Mean)), MeanY: percent(100 - 100*s.Mean/top)}
	n := (len(s.Regions) + each - 1) / each
	gap := 0.85 // between columns, where there is space for one
	if n > 200 {
		gap = 1
	}
	var all, high strings.Builder
	for i := range n {
		bytes := int64(0)
		for _, r := range s.Regions[i*each : min((i+1)*each, len(s.Regions))] {
			bytes = max(bytes, r.Bytes) // a mean would hide the large regions that the chart shows
		}
		b := &all
		if float64(bytes) > heavy*s.Mean {
			b = &high
		}
		x, wide := 1000*float64(i)/float64(n), 1000/float64(n)
		if bytes > 0 {
			fmt.Fprintf(b, "M%.2f 100v%.2fh%.2fV100z", x, -100*float64(bytes)/top, wide*gap)
		}
	}
	d.Path, d.Heavy = all.String(), high.String()
	for i, anchor := range []string{"start", "middle", "end"} {
		r := s.Regions[i*(len(s.Regions)-1)/2]
		d.Ticks = append(d.Ticks, tick{percent(float64(50 * i)), anchor, fmt.Sprintf("%d: %s", r.N, cut(12, r.Name))})
	}
	return d
}
