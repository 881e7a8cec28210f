package report

import (
	"strconv"
	"time"

	"bulkload/internal/model/progress"
)

// timeline shows the phases as bars over the job's time.
type timeline struct {
	Height int
	Bars   []timeBar
	Ticks  []tick
}

// timeBar is a phase. X and Width are percentages.
type timeBar struct {
	progress.PhaseProgress
	Y        int
	X, Width string
	Open     bool // the phase had not ended when the job did
}

// tick is a mark of the time axis.
type tick struct {
	X, Anchor, Text string
}

const timeStep = 40 // pixels of a phase

func newTimeline(r *document) *timeline {
	all := r.Ended.Sub(r.Began)
	if len(r.Phases) == 0 || all <= 0 {
		return nil
	}
	t := &timeline{Height: len(r.Phases)*timeStep + 24, Ticks: timeTicks(all)}
	for i, p := range r.Phases {
		b := timeBar{PhaseProgress: p, Y: i * timeStep, Open: p.Ended.IsZero()}
		if b.Open {
			b.Ended = r.Ended
		}
		from, to := place(b.Began, r), place(b.Ended, r)
		b.X, b.Width = percent(from), percent(max(to-from, 0.3))
		t.Bars = append(t.Bars, b)
	}
	return t
}

// place returns the position of a moment between the job's beginning and end, 0 to 100.
func place(t time.Time, r *document) float64 {
	return min(max(100*float64(t.Sub(r.Began))/float64(r.Ended.Sub(r.Began)), 0), 100)
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

func timeTicks(all time.Duration) []tick {
	ticks := []tick{{"0%", "start", "0"}}
	for i := 1; i < 4; i++ {
		ticks = append(ticks, tick{percent(float64(25 * i)), "middle", formatDuration(all * time.Duration(i) / 4)})
	}
	return append(ticks, tick{"100%", "end", formatDuration(all)})
}
