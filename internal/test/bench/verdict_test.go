package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdict compares today's program with the previous release.
type Verdict struct {
	Baseline string    `json:"baseline"` // name of the tool
	Wall     Judgement `json:"wall"`
	CPU      Judgement `json:"cpu"`
	Peak     Judgement `json:"peak_rss"`
}

// Judgement compares one measure.
type Judgement struct {
	Ratio Summary `json:"ratio"` // today ÷ baseline: of the medians, and the least and the greatest of a round
	// Word is faster, slower or same; of memory smaller, larger or same. It is same when the difference is within the
	// rounds' noise: see judge.
	Word string `json:"word"`
}

const (
	same = "same"
	// noise is the difference of two medians, as a share, below which they always count as equal.
	noise = 0.02
	// chance is the greatest probability that rounds of equal programs are called different.
	chance = 0.05
	// minRounds is the number of rounds from which two tools can differ by more than chance: four rounds each are
	// completely separate by chance with a probability of 2/70.
	minRounds = 4
)

// newVerdict needs samples of both programs.
func newVerdict(baseline string, today, before []Sample) *Verdict {
	of := func(take func(Sample) float64, less, more string) Judgement {
		return judge(each(today, take, 0), each(before, take, 0), less, more)
	}
	return &Verdict{Baseline: baseline, Wall: of(wallOf, "faster", "slower"), CPU: of(cpuOf, "faster", "slower"), Peak: of(peakOf, "smaller", "larger")}
}

// judge returns less or more if the medians differ by at least noise, and a Mann-Whitney test of the rounds finds a
// probability of at most chance that the difference is random. The test uses the ranks of all rounds, so that a
// single disturbed round decides nothing.
func judge(values, base []float64, less, more string) Judgement {
	j := Judgement{Ratio: ratioOf(values, base), Word: same}
	switch r := j.Ratio.Median; {
	case j.Ratio == Summary{}, math.Abs(r-1) < noise, byChance(values, base) > chance:
	case r < 1:
		j.Word = less
	default:
		j.Word = more
	}
	return j
}

// byChance returns the probability that two sets of rounds of the same program are at least as far apart as these:
// the exact two-sided probability of Mann and Whitney's U. Ties count as half, and are rounded towards chance.
func byChance(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x < y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	most := len(a) * len(b)
	u = math.Ceil(min(u, float64(most)-u))
	// ways[n][k] is the number of orders in which k of n×j pairs are in the right order, for the j elements of b so
	// far.
	ways := make([][]float64, len(a)+1)
	for n := range ways {
		ways[n] = make([]float64, most+1)
		ways[n][0] = 1
	}
	for j := 1; j <= len(b); j++ {
		next := make([][]float64, len(a)+1)
		for n := range next {
			next[n] = slices.Clone(ways[n]) // the greatest element is one of b
			for k := j; n > 0 && k <= most; k++ {
				next[n][k] += next[n-1][k-j] // or one of a, which is greater than j of b
			}
		}
		ways = next
	}
	within, all := 0.0, 0.0
	for k, w := range ways[len(a)] {
		all += w
		if float64(k) <= u {
			within += w
		}
	}
	return min(1, 2*within/all)
}

// measure is a judgement with its name.
type measure struct {
	name string
	Judgement
}

// measures returns the judgements of a verdict in the order of the output.
func (v *Verdict) measures() []measure {
	return []measure{{"wall", v.Wall}, {"CPU", v.CPU}, {"peak", v.Peak}}
}

// today returns the tool that the verdict is about, or the zero value if the case has none.
func (c *CaseReport) today() ToolReport {
	for _, t := range c.Tools {
		if t.Name == toolToday {
			return t
		}
	}
	return ToolReport{}
}

// Line returns the result of the case in one line. It is empty for a case that compares nothing with today's program.
func (c *CaseReport) Line() string {
	var parts []string
	if v := c.Verdict; v != nil {
		var list []string
		for _, m := range v.measures() {
			list = append(list, fmt.Sprintf("%s %s %s", m.name, plainRatio(m.Ratio), m.Word))
		}
		parts = append(parts, "÷ "+v.Baseline+": "+strings.Join(list, ", "))
	}
	if r := c.today().Ratio; r != nil {
		parts = append(parts, fmt.Sprintf("÷ %s: wall %s, CPU %s, peak %s", c.Reference, plainRatio(r.Wall), plainRatio(r.CPU), plainRatio(r.Peak)))
	}
	if len(parts) == 0 {
		return ""
	}
	return c.Name + " " + strings.Join(parts, "; ")
}

func plainRatio(s Summary) string {
	if s == (Summary{}) {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Min, s.Max)
}
