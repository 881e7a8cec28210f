package main

import (
	"math"
	"time"

	"bulkload/pkg/job"
)

// progressLines tells of a job's progress in the log, once in a while.
type progressLines struct {
	session *session
	stop    chan struct{}
	stopped chan struct{}
}

// lineEvery is how often; what takes less has only the lines of its phases.
const lineEvery = 30 * time.Second

func newProgressLines(s *session) *progressLines {
	t := time.NewTicker(lineEvery)
	p := &progressLines{session: s, stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer t.Stop()
		p.run(t.C)
	}()
	return p
}

func (p *progressLines) run(ticks <-chan time.Time) {
	defer close(p.stopped)
	for {
		select {
		case <-ticks:
			p.tell()
		case <-p.stop:
			return
		}
	}
}

// events are none: the lines tell what the session's tracker has.
func (p *progressLines) events() job.Events { return job.Events{} }

func (p *progressLines) end(outcome) error {
	close(p.stop)
	<-p.stopped
	return nil
}

// tell logs one line; the phase is on it as on every line.
func (p *progressLines) tell() {
	now := p.session.tracker.Progress()
	var args []any
	if n := len(now.Phases); n > 0 && now.Phases[n-1].Ended.IsZero() {
		phase := now.Phases[n-1]
		if done, ok := phase.Fraction(); ok {
			args = append(args, "percent", math.Floor(1000*done)/10)
		}
		took := now.At.Sub(phase.Began).Seconds()
		for _, n := range []struct {
			key   string
			value int64
			rate  bool
		}{{"rows", phase.Done.Rows, true}, {"bytes", phase.Done.Bytes, true}, {"files", phase.Done.Files, false}} {
			if n.value > 0 {
				args = append(args, n.key, n.value)
			}
			if n.value > 0 && n.rate && took > 0 {
				args = append(args, n.key+"_per_second", int64(float64(n.value)/took))
			}
		}
		if phase.Name == "write" {
			args = append(args, "hfile_bytes", now.Written)
		}
	}
	left := now.Left()
	if left.PhaseKnown {
		args = append(args, "phase_left", roundTime(left.Phase).String())
	}
	if left.JobKnown {
		args = append(args, "job_left", roundTime(left.Job).String())
	}
	p.session.log.Info("progress", args...)
}
