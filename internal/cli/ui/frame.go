package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bulkload/internal/model/progress"
	"bulkload/pkg/setting"
)

const (
	minViewWidth  = 40 // with fewer columns there is no live view
	minViewHeight = 4
	barWidth      = 30 // at most
)

// frame is the content of a live view at one moment: a row for each phase, and one for the job.
type frame struct {
	progress progress.Progress
	width    int // of rows, at most
	height   int // rows, at most
	colours  bool
	ended    bool
	failed   bool
}

// phaseRow is one phase, as columns.
type phaseRow struct {
	name, state, done, bytes, rate, time string
	fraction                             float64 // of the bar; below zero: no bar
	current                              bool
}

// rows returns the rows of the frame, without line ends. If the screen has too few lines, it leaves out phases that
// are not in progress.
func (f *frame) rows() []string {
	var all []phaseRow
	f.progress.Phases = f.progress.Now()
	phases := f.progress.Phases
	for i := range phases {
		p := &phases[i]
		all = append(all, f.phase(p))
		if p.Name == "write" && f.uploads() {
			all = append(all, f.upload(p))
		}
	}
	if !f.ended {
		for _, name := range f.progress.Ahead() {
			all = append(all, phaseRow{name: name, fraction: -1})
		}
	}
	tasks := f.tasks()
	if tasks != "" && len(all) > 0 && f.height > minViewHeight {
		f.height--
	} else {
		tasks = ""
	}
	for len(all) > max(f.height-1, 1) {
		i := slices.IndexFunc(all, func(r phaseRow) bool { return !r.current })
		if i < 0 {
			break
		}
		all = slices.Delete(all, i, i+1)
	}
	if len(all) >= f.height {
		all = all[:max(f.height-1, 0)]
	}
	rows := make([]string, 0, len(all)+2)
	for _, r := range all {
		rows = append(rows, f.line(r))
	}
	if tasks != "" {
		rows = append(rows, cutText(tasks, f.width))
	}
	return append(rows, f.job())
}

// tasks returns the row of a job on YARN, or "" for any other job.
func (f *frame) tasks() string {
	t := f.progress.Tasks
	if t.Application == "" {
		return ""
	}
	kind := func(name string, all, done, running int) string {
		text := fmt.Sprintf("%d of %d %s done", done, all, name)
		if running > 0 && !f.ended {
			text += fmt.Sprintf(", %d run", running)
		}
		return text
	}
	text := "yarn     " + kind("maps", t.Maps, t.MapsDone, t.MapsRunning) + "; " + kind("reduces", t.Reduces, t.ReducesDone, t.ReducesRunning)
	if t.Failed > 0 {
		text += fmt.Sprintf("; %s failed", setting.Count(t.Failed, "attempt"))
	}
	return text
}

// uploads reports whether files are uploaded to HDFS while they are written.
func (f *frame) uploads() bool { return strings.HasPrefix(f.progress.Start.Staging, "hdfs:") }

// phase returns the row of a phase that has begun.
func (f *frame) phase(p *progress.PhaseProgress) phaseRow {
	r := phaseRow{name: p.Name, fraction: -1, current: p.Ended.IsZero() && !f.ended}
	until := p.Ended
	if p.Ended.IsZero() {
		until = f.progress.At
	}
	took := until.Sub(p.Began)
	done, known := p.Fraction()
	switch {
	case !r.current && f.failed && f.last(p):
		r.state = "ended"
	case !r.current:
		r.state = "done"
	case known:
		r.state, r.fraction = fmt.Sprintf("%3.0f%%", min(99, 100*done)), done
	}
	switch {
	case p.Done.Rows > 0:
		r.done = countText(p.Done.Rows) + " rows"
	case p.Done.Files > 0:
		r.done = countText(p.Done.Files) + " files"
	}
	if p.Done.Bytes > 0 && !(p.Name == "write" && f.uploads()) {
		r.bytes = setting.Bytes(p.Done.Bytes)
	}
	span := progress.Span{Took: took, Done: p.Done}
	if p.Recent.Took > 0 {
		span = p.Recent
	}
	if s := span.Took.Seconds(); s > 0.05 && p.Done.Rows > 0 {
		r.rate = countText(int64(float64(span.Done.Rows)/s)) + "/s"
	} else if s > 0.05 && p.Done.Bytes > 0 {
		r.rate = setting.Bytes(int64(float64(span.Done.Bytes)/s)) + "/s"
	}
	r.time = durationText(took)
	if r.current && f.progress.Left.PhaseKnown {
		r.time = clockText(f.progress.Left.Phase) + " left"
	}
	return r
}

// last reports whether the job ended in a phase.
func (f *frame) last(p *progress.PhaseProgress) bool {
	return p == &f.progress.Phases[len(f.progress.Phases)-1]
}

// upload returns the row of the upload to HDFS that happens while HFiles are written.
func (f *frame) upload(write *progress.PhaseProgress) phaseRow {
	r := f.phase(&progress.PhaseProgress{Name: "upload", Began: write.Began, Ended: write.Ended, Done: progress.Amount{Bytes: write.Done.Bytes},
		Recent: progress.Span{Took: write.Recent.Took, Done: progress.Amount{Bytes: write.Recent.Done.Bytes}}})
	if r.current = write.Ended.IsZero() && !f.ended; r.current {
		r.time = ""
	}
	if f.ended && f.failed && f.last(write) {
		r.state = "ended"
	}
	if n := f.progress.HFiles.Files; n > 0 {
		r.done = countText(n) + " files"
	}
	return r
}

func (f *frame) job() string {
	text := "job     "
	elapsed := time.Duration(0)
	if !f.progress.Began.IsZero() {
		elapsed = f.progress.At.Sub(f.progress.Began)
	}
	switch {
	case f.ended && f.failed:
		text += " failed after " + durationText(elapsed)
	case f.ended:
		text += " done in " + durationText(elapsed)
	case len(f.progress.Phases) == 0:
		text += " preparing"
	default:
		text += " " + clockText(elapsed) + " so far"
		if s := f.progress.Start; s.Parts > 1 {
			text = fmt.Sprintf("job      directory %d of %d, %s so far", s.Part, s.Parts, clockText(elapsed))
		}
		if f.progress.Left.JobKnown {
			text += ", about " + clockText(f.progress.Left.Job) + " left"
		}
	}
	if n := f.progress.Warnings; n > 0 {
		text += ", " + setting.Count(n, "warning")
	}
	return f.paint(cutText(text, f.width), f.ended && f.failed, "31")
}

// line formats a row, no wider than the frame. If there is too little space, it drops the bar first, then the rate,
// the bytes and the count.
func (f *frame) line(r phaseRow) string {
	columns := []struct {
		text  string
		width int
	}{{r.done, 12}, {r.bytes, 10}, {r.rate, 11}, {r.time, 12}}
	fixed := 8 + 1 + 4
	width := func() int {
		n := fixed
		for _, c := range columns {
			n += 2 + c.width
		}
		return n
	}
	for _, i := range []int{2, 1, 0} {
		if width() > f.width {
			columns = slices.Delete(columns, i, i+1)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %4s", r.name, r.state)
	if room := min(f.width-width()-2, barWidth); room >= 8 {
		b.WriteString("  " + barText(r.fraction, room))
	}
	for _, c := range columns {
		fmt.Fprintf(&b, "  %*s", c.width, c.text)
	}
	return f.paint(strings.TrimRight(cutText(b.String(), f.width), " "), r.current, "36")
}

func barText(fraction float64, width int) string {
	if fraction < 0 {
		return strings.Repeat(" ", width)
	}
	inside := width - 2
	full := min(int(fraction*float64(inside)), inside)
	text := strings.Repeat("=", full)
	if full > 0 && full < inside {
		text = text[:full-1] + ">"
	}
	return "[" + text + strings.Repeat(" ", inside-full) + "]"
}

func (f *frame) paint(text string, when bool, colour string) string {
	if !f.colours || !when || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// cutText shortens an ASCII text.
func cutText(text string, width int) string { return text[:max(0, min(len(text), width))] }

// countText formats a count with three significant digits.
func countText(n int64) string {
	v, units := float64(n), " kMGT"
	if n < 1000 {
		return fmt.Sprint(n)
	}
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1000
		i++
	}
	digits := 2
	for w := v; w >= 9.995 && digits > 0; w /= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f %c", digits, v, units[i])
}

// clockText formats a duration as minutes and seconds, with hours if there are any.
func clockText(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Round rounds a duration to two or three significant digits.
func Round(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}

// durationText formats a duration, with tenths of a second if it is short.
func durationText(d time.Duration) string {
	if d < 100*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return clockText(d)
}
