package lineage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// Observer emits the events of a run: START when its work begins, and one event at its end. A run whose job is done
// already, or is being worked on by another process, did nothing with the data and has no events.
type Observer struct {
	emitter  *emitter
	sink     Sink
	producer producer
	command  string
	input    func() progress.Amount
	base     Event // fields that all events of the run share
	streams  bool  // some records come from no dataset
	start    sync.Once
}

// Options are the contents of a run's events.
type Options struct {
	Cmd     *cobra.Command
	Log     *slog.Logger
	About   Subject
	Job     string                 // name of the job; empty: derived from the subject
	Version string                 // version of the program
	Input   func() progress.Amount // amount that was read, or is to be read
}

// Subject describes the work of a command, as far as it is known before the command begins.
type Subject struct {
	Command string    // run, build (and merge, which ends one) or load
	Spec    spec.Spec // of load: the table, and the directory as the only input
	Out     string    // of build
	Into    string    // the table that replaces the spec's table; empty: none
	Env     *cluster.Env
}

// filled returns the OpenLineage names of the tables that the command fills, in the order of the job's tables.
func (s Subject) filled() []string {
	names := []string{cmp.Or(s.Into, s.Spec.Table)}
	for _, t := range s.Spec.Tables {
		names = append(names, t.Table)
	}
	for i, t := range names {
		if name, err := loader.ParseTableName(t); err == nil {
			names[i] = name.Namespace + ":" + name.Qualifier
		}
	}
	return names
}

// Table returns the table's name in HBase's form. It may be empty for a build.
func (s Subject) Table() string {
	if name, err := loader.ParseTableName(s.Spec.Table); err == nil {
		return name.String()
	}
	return s.Spec.Table
}

// Observe returns the observer of a run. It starts a goroutine that ends with the last event.
func Observe(sink Sink, o Options) *Observer {
	begin, end := nominal(o.Cmd)
	p := producer(o.Version)
	l := newObserver(sink, p, o.About.Command, o.Input, describeRun(o.Log, p, o.About, o.Job, begin, end, os.Getenv))
	l.streams = hasStreams(o.About)
	return l
}

func newObserver(sink Sink, p producer, command string, input func() progress.Amount, base Event) *Observer {
	return &Observer{emitter: newEmitter(sink), sink: sink, producer: p, command: command, input: input, base: base}
}

// Events returns the callbacks through which the observer follows the job.
func (l *Observer) Events() progress.Events {
	var done atomic.Bool // by an earlier run: this one does no work on the data
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

func (l *Observer) begin(at time.Time) {
	l.start.Do(func() {
		e := l.base
		e.Type, e.Time = started, stamp(at)
		l.emitter.Emit(e)
	})
}

// End emits the last event, and waits until all events are delivered.
func (l *Observer) End(ctx context.Context, o ending.Outcome) error {
	if already := o.Result != nil && o.Result.Already; !(already && o.Err == nil) && o.Code != fail.Busy.ExitCode() {
		l.begin(o.Began) // a run that failed before its work began
		l.emitter.Emit(l.endEvent(o))
	}
	if err := l.emitter.Close(ctx); err != nil {
		return fmt.Errorf("OpenLineage to %s: %w", l.sink, err)
	}
	return nil
}

// endEvent returns the event of the run's end. For a successful run it has the amounts read and written.
func (l *Observer) endEvent(o ending.Outcome) Event {
	e := l.base
	e.Time = stamp(o.Ended)
	switch {
	case o.Err == nil:
		e.Type = completed
		e = withAmounts(e, l.producer, l.command, l.input(), o)
		if l.streams && len(e.Inputs) == 1 {
			e.Inputs[0].InputFacets = nil // the dataset's part of the amounts is not known
		}
		return withAssertions(e, l.producer, o)
	case ending.Stopped(o.Code) || errors.Is(o.Err, context.Canceled):
		e.Type = aborted
	default:
		e.Type = failed
	}
	e.Run.Facets.Error = &errorFacet{Facet: l.producer.Facet(errorDef), Message: setting.Shorten(o.Err.Error(), maxErrorText), Language: "GO"}
	return withAssertions(e, l.producer, o)
}

// maxErrorText is the length limit of an error's message in an event, in bytes.
const maxErrorText = 4 << 10
