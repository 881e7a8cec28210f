package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Report counts rounds by kind of fault.
type Report struct {
	Rounds int
	Wrong  []*Outcome // rounds that violated a guarantee
	Broken []*Outcome // rounds that could not be judged

	kinds map[string]*tally
	all   []roundReport
}

// tally counts the outcomes of the faults of one kind.
type tally struct {
	Rounds  int     `json:"rounds"`
	Hit     int     `json:"hit"`
	AtOnce  int     `json:"survived"`
	Again   int     `json:"after_another_run"`
	Anew    int     `json:"begun_anew"`   // after a refusal
	Refused int     `json:"refused"`      // at the end, as required
	Late    int     `json:"refused_late"` // those of them after the damage was in the table
	Wrong   int     `json:"wrong"`
	Silent  int     `json:"silent"` // of the wrong ones
	Broken  int     `json:"not_judged"`
	Seconds float64 `json:"seconds"`
}

func (t *tally) add(o tally) {
	t.Rounds, t.Hit, t.AtOnce, t.Again, t.Anew = t.Rounds+o.Rounds, t.Hit+o.Hit, t.AtOnce+o.AtOnce, t.Again+o.Again, t.Anew+o.Anew
	t.Refused, t.Late, t.Wrong, t.Silent, t.Broken = t.Refused+o.Refused, t.Late+o.Late, t.Wrong+o.Wrong, t.Silent+o.Silent, t.Broken+o.Broken
	t.Seconds += o.Seconds
}

// roundReport is a round in the JSON report.
type roundReport struct {
	Seed     uint64   `json:"seed"`
	Kind     string   `json:"kind"`
	Job      string   `json:"job"`
	Fault    string   `json:"fault"`
	Hit      bool     `json:"hit"`
	Exits    []int    `json:"exits"`
	Errors   []string `json:"errors,omitempty"`
	Anew     bool     `json:"begun_anew,omitempty"`
	Refused  bool     `json:"refused,omitempty"`
	Late     bool     `json:"refused_late,omitempty"`
	Silent   bool     `json:"silent,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Broken   string   `json:"not_judged,omitempty"`
	Note     string   `json:"note,omitempty"`
	Seconds  float64  `json:"seconds"`
}

// Add counts a round.
func (r *Report) Add(o *Outcome) {
	one := tally{Rounds: 1, Hit: int(btoi(o.Hit)), Silent: int(btoi(o.Silent)), Late: int(btoi(o.Late)), Seconds: o.Took.Seconds()}
	line := roundReport{Seed: o.Seed, Kind: o.Fault.Kind, Job: o.Job.String(), Fault: o.Fault.String(), Hit: o.Hit, Exits: o.Exits, Errors: o.Errors,
		Anew: o.Restarted, Refused: o.Refused, Late: o.Late, Silent: o.Silent, Problems: o.Problems, Note: o.Note, Seconds: o.Took.Seconds()}
	switch {
	case o.Broken != nil:
		one.Broken = 1
		line.Broken = o.Broken.Error()
		r.Broken = append(r.Broken, o)
	case !o.OK():
		one.Wrong = 1
		r.Wrong = append(r.Wrong, o)
	case o.Refused:
		one.Refused = 1
	case o.Restarted:
		one.Anew = 1
	case len(o.Exits) == 1:
		one.AtOnce = 1
	default:
		one.Again = 1
	}
	if r.kinds == nil {
		r.kinds = map[string]*tally{}
	}
	if r.kinds[o.Fault.Kind] == nil {
		r.kinds[o.Fault.Kind] = &tally{}
	}
	r.kinds[o.Fault.Kind].add(one)
	r.all = append(r.all, line)
	r.Rounds++
}

// total returns the sum of all kinds.
func (r *Report) total() (sum tally) {
	for _, t := range r.kinds {
		sum.add(*t)
	}
	return sum
}

// Write prints the table: rounds; those with a fault in time; those that survived in the first run, by a repeated command, or
// by a restart after a refusal; those that were rightly refused to the end (late: after the damage was in the table); and the
// others.
func (r *Report) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "fault\trounds\thit\tsurvived\tafter another run\trestarted\trefused\tlate\twrong\tsilent\tnot judged\ts/round\t")
	line := func(kind string, t tally) {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", kind, t.Rounds, t.Hit, t.AtOnce, t.Again, t.Anew, t.Refused, t.Late, t.Wrong, t.Silent,
			t.Broken, t.Seconds/float64(max(1, t.Rounds)))
	}
	for _, kind := range Kinds() {
		if t := r.kinds[kind]; t != nil {
			line(kind, *t)
		}
	}
	line("all", r.total())
	return tw.Flush()
}

// WriteJSON writes the same, with every round.
func (r *Report) WriteJSON(w io.Writer, started time.Time) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		Began  time.Time         `json:"began"`
		Ended  time.Time         `json:"ended"`
		All    tally             `json:"all"`
		Kinds  map[string]*tally `json:"kinds"`
		Rounds []roundReport     `json:"rounds"`
	}{started.UTC(), time.Now().UTC(), r.total(), r.kinds, r.all})
}
