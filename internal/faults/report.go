package faults

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report counts rounds by kind of fault.
type Report struct {
	Rounds int
	Wrong  []*Outcome // that broke a promise
	Broken []*Outcome // that could not be judged

	kinds map[string]*tally
}

// tally is what came of the faults of one kind.
type tally struct {
	tried, hit, atOnce, again, wrong, broken int
}

// Add counts a round.
func (r *Report) Add(o *Outcome) {
	if r.kinds == nil {
		r.kinds = map[string]*tally{}
	}
	t := r.kinds[o.Fault.Kind]
	if t == nil {
		t = &tally{}
		r.kinds[o.Fault.Kind] = t
	}
	r.Rounds++
	t.tried++
	if o.Hit {
		t.hit++
	}
	switch {
	case o.Broken != nil:
		t.broken++
		r.Broken = append(r.Broken, o)
	case !o.OK():
		t.wrong++
		r.Wrong = append(r.Wrong, o)
	case len(o.Exits) == 1:
		t.atOnce++
	default:
		t.again++
	}
}

// Write prints the table: rounds, those whose fault came in time, those survived by the first run and by
// the same command given again, and the others.
func (r *Report) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "fault\trounds\thit\tsurvived\tafter another run\twrong\tnot judged\t")
	var sum tally
	for _, kind := range Kinds() {
		t := r.kinds[kind]
		if t == nil {
			continue
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", kind, t.tried, t.hit, t.atOnce, t.again, t.wrong, t.broken)
		sum.tried, sum.hit, sum.atOnce = sum.tried+t.tried, sum.hit+t.hit, sum.atOnce+t.atOnce
		sum.again, sum.wrong, sum.broken = sum.again+t.again, sum.wrong+t.wrong, sum.broken+t.broken
	}
	fmt.Fprintf(tw, "all\t%d\t%d\t%d\t%d\t%d\t%d\t\n", sum.tried, sum.hit, sum.atOnce, sum.again, sum.wrong, sum.broken)
	return tw.Flush()
}
