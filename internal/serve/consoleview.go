package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/serve/console"
	"bulkload/pkg/setting"
)

// consolePage has the fields of both pages.
type consolePage struct {
	Title string
	Live  bool // the page refreshes itself
	Self  string
	Place string
	Seen  *moment
	Away  *moment // nil: the place is in reach
	Why   string
	Error *Problem
}

func (p *consolePage) problem() *Problem { return p.Error }

func newConsolePage(v console.View, title, self string, live bool) consolePage {
	return consolePage{Title: title, Live: live, Self: self, Place: v.Name, Seen: momentOf(v.Seen), Away: momentOf(v.Away), Why: v.Why}
}

// moment is a time in readable form and in RFC 3339.
type moment struct{ Text, Machine string }

func momentOf(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	return &moment{t.Local().Format("2006-01-02 15:04:05 MST"), t.UTC().Format(time.RFC3339)}
}

type listPage struct {
	consolePage
	States []stateLink
	Jobs   []jobRow
	More   int
	Trends []console.Trend
}

type stateLink struct {
	Name, Address string
	Count         int
	Here          bool
}

type jobRow struct {
	Name, ID, Table, Command string
	State, Mark, Class       string
	Phase, Paused, Left      string
	Percent                  *int
	Rows, Rejected, Seconds  string
	Exit                     string
	When                     *moment
	Runs                     bool
}

// marks precede the name of a state, so that states can be distinguished without colours.
var marks = map[history.Status]string{history.JobRunning: "▶", history.JobDone: "✓", history.JobFailed: "✗", history.JobStopped: "■", history.JobInterrupted: "!"}

func newListPage(v console.View, state, table string, live bool) *listPage {
	address := func(state string) string {
		q := url.Values{}
		if state != "" {
			q.Set("state", state)
		}
		if table != "" {
			q.Set("table", table)
		}
		if !live {
			q.Set("live", "off")
		}
		if len(q) == 0 {
			return "/"
		}
		return "/?" + q.Encode()
	}
	p := &listPage{consolePage: newConsolePage(v, "Jobs", address(state), live), More: v.More}
	counts := map[history.Status]int{}
	all := 0
	for _, s := range v.Jobs {
		if table != "" && s.Table != table {
			continue
		}
		counts[s.State]++
		all++
		switch {
		case state != "" && string(s.State) != state:
		case len(p.Jobs) < consoleRows:
			p.Jobs = append(p.Jobs, rowOf(s))
		default:
			p.More++
		}
	}
	p.States = []stateLink{{"all", address(""), all, state == ""}}
	for _, st := range []history.Status{history.JobRunning, history.JobFailed, history.JobStopped, history.JobInterrupted, history.JobUnknown, history.JobDone} {
		if counts[st] > 0 || state == string(st) {
			p.States = append(p.States, stateLink{string(st), address(string(st)), counts[st], state == string(st)})
		}
	}
	for _, t := range console.Trends(v.Jobs) {
		if table == "" || t.Table == table {
			p.Trends = append(p.Trends, t)
		}
	}
	return p
}

func rowOf(s *status.State) jobRow {
	row := jobRow{Name: s.Job, ID: s.JobID, Table: s.Table, Command: s.Command, State: s.StateText(), Mark: cmp.Or(marks[s.State], "?"), Class: string(s.State),
		Phase: strings.TrimPrefix(s.PhaseText(), "-"), Rows: setting.Thousands(s.Rows), Rejected: setting.Thousands(s.Rejected), When: momentOf(cmp.Or(s.Ended, s.Last)), Runs: s.State == history.JobRunning}
	if row.Runs {
		row.When = momentOf(s.Began)
		if s.Percent != nil {
			row.Percent = new(int(*s.Percent))
		}
		if l := s.Live; l != nil {
			if left := cmp.Or(l.JobLeft, l.SecondsLeft); left != nil {
				row.Left = leftText(*left)
			}
			if l.Paused != nil {
				row.Paused = "paused: " + l.Paused.Reason
			}
		}
		return row
	}
	if s.Result != nil {
		row.Seconds = console.Span(s.Result.Elapsed.Seconds())
	} else if !s.Began.IsZero() && s.Ended.After(s.Began) {
		row.Seconds = console.Span(s.Ended.Sub(s.Began).Seconds())
	}
	if s.ExitCode != nil {
		row.Exit = fmt.Sprint(*s.ExitCode)
	}
	return row
}

func leftText(seconds float64) string {
	return (time.Duration(seconds) * time.Second).String()
}

type jobPage struct {
	consolePage
	Row      jobRow
	S        *status.State
	Facts    pageFields // names and values
	Plan     pageFields
	Phases   []phaseRow
	Tables   []string
	Left     []pageField // files and data that the job left behind
	Attempts []attemptRow
	Trend    console.Trend
	Actions  []pageAction
	Token    string
	Did      console.Action
	Cleaning *checkpoint.Cleaning
}

type phaseRow struct {
	Name, Took, Rows, Share string
}

type attemptRow struct {
	Attempt      int
	Began, Ended *moment
	Process, End string
}

// pageAction is a button, or the reason why there is none.
type pageAction struct {
	Action      console.Action
	Label, What string
	Why         string
}

var actionTexts = map[console.Action][2]string{
	console.Pause:  {"Pause", "finishes what is in hand, then waits"},
	console.Resume: {"Resume", "ends a pause"},
	console.Stop:   {"Stop", "ends the process; the same command resumes the job"},
	console.Start:  {"Start again", "runs the recorded command"},
	console.Clean:  {"Clean", "first says what it would remove"},
}

func (c *consolePages) newJobPage(r *http.Request, s *status.State, v console.View) *jobPage {
	p := &jobPage{consolePage: newConsolePage(v, s.Job, "/jobs/"+s.Job, isLive(r)), Row: rowOf(s), S: s, Trend: console.Of(c.look(r).Jobs, s.Table), Token: c.token(r, s.Job)}
	p.Facts, p.Plan = factsOf(s), planOf(s)
	for _, t := range s.Tables {
		p.Tables = append(p.Tables, t.Text(setting.Bytes))
	}
	for _, left := range s.Resources {
		text := left.Name
		if left.Table != "" && left.Table != s.Table {
			text += ", for table " + left.Table
		}
		p.Left = append(p.Left, pageField{string(left.Kind), text})
	}
	for _, a := range slices.Backward(s.Attempts) {
		end := string(a.State)
		if a.Error != "" {
			end += ": " + a.Error
		}
		ended := momentOf(a.Ended)
		if a.State == history.JobRunning {
			ended = nil
		}
		p.Attempts = append(p.Attempts, attemptRow{a.Attempt, momentOf(a.Began), ended, fmt.Sprintf("%d on %s", a.PID, a.Host), end})
	}
	if s.Live != nil {
		for _, ph := range s.Live.Progress.Phases {
			row := phaseRow{Name: ph.Name, Rows: setting.Thousands(ph.Done.Rows), Took: console.Span(cmp.Or(ph.Ended, s.Live.Updated).Sub(ph.Began).Seconds())}
			if f, ok := ph.Fraction(); ok {
				row.Share = fmt.Sprintf("%.0f%%", 100*f)
			}
			p.Phases = append(p.Phases, row)
		}
	}
	if !c.place.Control() {
		return p
	}
	for _, a := range console.Actions() {
		if !note(r).caller.mayAct(a) {
			continue
		}
		act := pageAction{Action: a, Label: actionTexts[a][0], What: actionTexts[a][1]}
		if err := c.place.May(s, a); err != nil {
			act.Why = err.Error()
		} else if p.Away != nil {
			act.Why = "the job is not seen now"
		}
		p.Actions = append(p.Actions, act)
	}
	return p
}

type pageFields []pageField

// add adds a field, unless its text is empty.
func (f *pageFields) add(name, text string) {
	if text != "" {
		*f = append(*f, pageField{name, text})
	}
}

// factsOf returns the results of a job, in the words of status.
func factsOf(s *status.State) (facts pageFields) {
	row := rowOf(s)
	facts.add("job id", s.JobID)
	facts.add("table", s.Table)
	facts.add("command", s.Command)
	if row.Runs {
		facts.add("process", fmt.Sprintf("%d on %s", s.PID, s.Host))
		facts.add("attempt", fmt.Sprint(s.Attempt))
		if l := s.Live; l != nil {
			if l.RowsRate > 0 {
				facts.add("rate", fmt.Sprintf("%.0f rows/s, %s/s", l.RowsRate, setting.Bytes(int64(l.BytesRate))))
			}
			if l.SecondsLeft != nil {
				facts.add("left in this phase", "about "+leftText(*l.SecondsLeft))
			}
			if l.JobLeft != nil {
				facts.add("left in all", "about "+leftText(*l.JobLeft))
			}
		}
	}
	facts.add("error", s.Error)
	facts.add("exit code", row.Exit)
	facts.add("rows", row.Rows)
	facts.add("rejects", row.Rejected)
	facts.add("time", row.Seconds)
	facts.add("written", fmt.Sprintf("%s, %s, for %s", setting.Count(s.HFiles, "HFile"), setting.Bytes(s.Bytes), setting.Count(s.Regions, "region")))
	facts.add("loaded", setting.Count(s.Loaded, "file"))
	if s.Replace != nil {
		facts.add("replace", s.Replace.String())
	}
	if s.Sent > 0 && !row.Runs {
		facts.add("outcome", fmt.Sprintf("unknown: HBase may hold %s of this job; run the same command, which resolves the outcome", setting.Count(s.Sent, "file")))
	}
	if s.Result != nil && s.Result.Manifest != nil {
		facts.add("reject file", s.Result.Manifest.RejectFile)
	}
	return facts
}

func planOf(s *status.State) (plan pageFields) {
	plan.add("key", s.Key)
	if s.Inputs > 0 {
		plan.add("inputs", fmt.Sprintf("%s, %s", setting.Count(s.Inputs, "file"), setting.Bytes(s.InBytes)))
	}
	for i, f := range s.Source {
		if i == 20 {
			plan.add("", fmt.Sprintf("and %d more", len(s.Source)-i))
			break
		}
		plan.add("input", fmt.Sprintf("%s, %s", f.Path, setting.Bytes(f.Bytes)))
	}
	if s.Regions > 0 {
		plan.add("regions", fmt.Sprint(s.Regions))
	}
	plan.add("staging", s.Staging)
	plan.add("snapshot", s.Snapshot)
	if s.Fresh != nil {
		plan.add("in place of", s.Fresh.From)
	}
	return plan
}
