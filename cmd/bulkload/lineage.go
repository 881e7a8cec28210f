package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
)

// lineageObserver emits the events of a run: START when its work begins, and one of how it ended. A run that finds its job
// done, or another process at work on it, did nothing with the data and has none.
type lineageObserver struct {
	emitter *lineage.Emitter
	sink    lineage.Sink
	command string
	input   *inputs
	base    lineage.Event // what all events of the run have
	start   sync.Once
}

// newLineageObserver starts a goroutine that ends with the last event.
func newLineageObserver(sink lineage.Sink, command string, input *inputs, base lineage.Event) *lineageObserver {
	return &lineageObserver{emitter: lineage.NewEmitter(sink), sink: sink, command: command, input: input, base: base}
}

func (l *lineageObserver) Events() progress.Events {
	var done atomic.Bool // by an earlier run: what follows only looks
	return progress.Events{
		OnStart: func(s progress.Start) {
			if done.Store(s.Attempt == 0); s.Attempt > 0 {
				l.begin(time.Now())
			}
		},
		OnPhase: func(string) {
			if !done.Load() {
				l.begin(time.Now())
			}
		},
	}
}

func (l *lineageObserver) begin(at time.Time) {
	l.start.Do(func() {
		e := l.base
		e.Type, e.Time = lineage.Start, lineage.Stamp(at)
		l.emitter.Emit(e)
	})
}

func (l *lineageObserver) Tell(ctx context.Context, o ending.Outcome) error {
	if already := o.Result != nil && o.Result.Already; !(already && o.Err == nil) && o.Code != fail.Busy.ExitCode() {
		l.begin(o.Began) // a run that failed before its work began
		l.emitter.Emit(endEvent(l.base, l.command, l.input.amount(), o))
	}
	if err := l.emitter.Close(ctx); err != nil {
		return fmt.Errorf("OpenLineage to %s: %w", l.sink, err)
	}
	return nil
}

// endEvent says how a run ended, and of a successful one what it read and wrote.
func endEvent(e lineage.Event, command string, input progress.Amount, o ending.Outcome) lineage.Event {
	e.Time = lineage.Stamp(o.Ended)
	switch {
	case o.Err == nil:
		e.Type = lineage.Complete
		return withAssertions(withAmounts(e, command, input, o), o)
	case ending.Stopped(o.Code) || errors.Is(o.Err, context.Canceled):
		e.Type = lineage.Abort
	default:
		e.Type = lineage.Fail
	}
	message := o.Err.Error()
	if len(message) > maxErrorText {
		message = message[:maxErrorText] + "…"
	}
	e.Run.Facets.Error = &lineage.ErrorFacet{Facet: producer().Facet(lineage.ErrorDef), Message: message, Language: "GO"}
	return withAssertions(e, o)
}

// maxErrorText bounds an error's message in an event, in bytes.
const maxErrorText = 4 << 10

// producer is this program in events.
func producer() lineage.Producer { return lineage.Producer(version) }
