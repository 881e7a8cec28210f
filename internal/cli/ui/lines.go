package ui

import (
	"log/slog"
	"math"
	"time"

	"bulkload/internal/model/progress"
)

// Lines logs a job's progress at regular intervals.
type Lines struct {
	tracker *progress.Tracker
	log     *slog.Logger
	stop    chan struct{}
	stopped chan struct{}
}

// lineEvery is the interval. A shorter job has only the lines of its phases.
const lineEvery = 30 * time.Second

func NewLines(tracker *progress.Tracker, log *slog.Logger) *Lines {
	t := time.NewTicker(lineEvery)
	p := &Lines{tracker: tracker, log: log, stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer t.Stop()
		p.run(t.C)
	}()
	return p
}

func (p *Lines) run(ticks <-chan time.Time) {
	defer close(p.stopped)
	for {
		select {
		case <-ticks:
			p.logLine()
		case <-p.stop:
			return
		}
	}
}

// End stops the lines.
func (p *Lines) End() {
	close(p.stop)
	<-p.stopped
}

// logLine logs one line. The phase is an attribute of every line.
func (p *Lines) logLine() {
	now := p.tracker.Progress()
	var args []any
	if s := now.Start; s.Parts > 1 {
		args = append(args, "number", s.Part, "of", s.Parts)
	}
	if n := len(now.Phases); n > 0 && now.Phases[n-1].Ended.IsZero() {
		phase := now.Phases[n-1]
		if done, ok := phase.Fraction(); ok {
			args = append(args, "percent", math.Floor(1000*done)/10)
		}
		span := progress.Span{Took: now.At.Sub(phase.Began), Done: phase.Done}
		if phase.Recent.Took > 0 {
			span = phase.Recent
		}
		for _, n := range []struct {
			key          string
			done, recent int64
		}{{"rows", phase.Done.Rows, span.Done.Rows}, {"bytes", phase.Done.Bytes, span.Done.Bytes}, {"files", phase.Done.Files, 0}} {
			if n.done > 0 {
				args = append(args, n.key, n.done)
			}
			if n.recent > 0 && span.Took > 0 {
				args = append(args, n.key+"_per_second", int64(float64(n.recent)/span.Took.Seconds()))
			}
		}
	}
	if t := now.Tasks; t.Application != "" {
		args = append(args, "maps_done", t.MapsDone, "maps", t.Maps, "reduces_done", t.ReducesDone, "reduces", t.Reduces, "tasks_running", t.MapsRunning+t.ReducesRunning)
		if t.Failed > 0 {
			args = append(args, "attempts_failed", t.Failed)
		}
	}
	left := now.Left
	if left.PhaseKnown {
		args = append(args, "phase_left", Round(left.Phase))
	}
	if left.JobKnown {
		args = append(args, "job_left", Round(left.Job))
	}
	p.log.Info("progress", args...)
}
