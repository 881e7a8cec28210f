package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/report"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
)

// telemetryFlags are the flags of the systems that a job reports to.
type telemetryFlags struct {
	metricsFile  string
	metricsPush  string
	metricLabels []string
	listen       string
	stalledAfter time.Duration
	lineage      string
	lineageJob   string
}

func (t *telemetryFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{
		"metrics-file": &t.metricsFile, "metrics-push": &t.metricsPush, "metrics-label": &t.metricLabels, "listen": &t.listen, "stalled-after": &t.stalledAfter, "openlineage": &t.lineage,
		"openlineage-job": &t.lineageJob,
	})
}

func (t *telemetryFlags) observe(s *Session) error {
	labels, err := metrics.ParseLabels(s.about.Table(), t.metricLabels)
	if err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-label: %w", err), "metrics-label"))
	}
	all := observers{input: &inputs{}}
	if t.metricsFile != "" {
		if info, err := os.Stat(t.metricsFile); err == nil && info.IsDir() {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-file %s is a directory: name a file in it that ends in .prom", t.metricsFile), "metrics-file"))
		}
		all.parts = append(all.parts, atEnd(func(_ context.Context, o ending.Outcome) error {
			return metrics.WriteFile(t.metricsFile, s.lastRun(all.input.amount(), o), labels)
		}))
	}
	if t.metricsPush != "" {
		target, err := deliver.ParseTarget(t.metricsPush)
		if err == nil && target.Query() != "" {
			err = errors.New("a Pushgateway's address has no query")
		}
		if err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-push: %w", err), "metrics-push"))
		}
		all.parts = append(all.parts, atEnd(func(ctx context.Context, o ending.Outcome) error {
			return metrics.Push(ctx, target, deliver.Tries, s.lastRun(all.input.amount(), o), labels)
		}))
	}
	sink, err := lineage.Open(t.lineage, os.Getenv)
	if err != nil && t.lineage != "" {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--openlineage: %w", err), "openlineage"))
	} else if err != nil { // the caller is not responsible for an orchestrator's environment
		s.log.Warn("no events for OpenLineage", "error", err)
	}
	if t.listen != "" {
		l, err := t.serve(s, labels)
		if err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--listen: %w", err), "listen"))
		}
		all.parts = append(all.parts, l)
	}
	if sink != nil {
		all.parts = append(all.parts, lineage.Observe(sink, lineage.Options{Cmd: s.cmd, Log: s.log, About: s.about, Job: t.lineageJob, Version: s.program.Build.Version, Input: all.input.amount}))
	}
	if len(all.parts) > 0 {
		s.observers = append(s.observers, all)
	}
	return nil
}

const (
	// reportTime limits the reports at the end: three attempts of 10 s and their pauses.
	reportTime = 35 * time.Second
	// stoppedReportTime is the limit after a stop, which has 15 s in all and needs nearly all of them for HBase and HDFS.
	stoppedReportTime = 1500 * time.Millisecond
)

// observers is a group of observers whose ends may take time: they end concurrently, each within the context's time.
type observers struct {
	parts []observer
	input *inputs
}

func (t observers) Events() progress.Events {
	all := []progress.Events{t.input.events()}
	for _, p := range t.parts {
		all = append(all, p.Events())
	}
	return progress.Tee(all...)
}

func (t observers) End(stopped context.Context, o ending.Outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stopped), reportTime)
	defer cancel()
	defer context.AfterFunc(stopped, func() { time.AfterFunc(stoppedReportTime, cancel) })()
	errs := make([]error, len(t.parts))
	var wait sync.WaitGroup
	for i, p := range t.parts {
		wait.Go(func() { errs[i] = p.End(ctx, o) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// inputs is the total of all inputs that a command has read or is to read: a command may do several jobs in sequence.
type inputs struct {
	mu  sync.Mutex
	sum progress.Amount
}

func (i *inputs) events() progress.Events {
	return progress.Events{OnStart: func(s progress.Start) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.sum.Files += int64(s.Files)
		i.sum.Bytes += s.Bytes
	}}
}

func (i *inputs) amount() progress.Amount {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sum
}

// atEnd is an observer that only reports the end.
type atEnd func(context.Context, ending.Outcome) error

func (atEnd) Events() progress.Events { return progress.Events{} }

func (f atEnd) End(ctx context.Context, o ending.Outcome) error { return f(ctx, o) }

// lastRun returns the metrics of the run. A job that was done before keeps the time of its earlier success: a cron job
// that requests the same day night after night must not look healthy.
func (s *Session) lastRun(input progress.Amount, o ending.Outcome) metrics.Run {
	r := metrics.Run{Outcome: o, Input: input, Loads: s.about.Command != "build", Given: s.about.Command == "load", Build: s.program.Build}
	for _, t := range s.about.Spec.Tables {
		r.Further = append(r.Further, t.Table)
	}
	switch {
	case o.Err != nil:
	case o.Result != nil && o.Result.Already:
		r.Success = o.Result.DoneAt
	default:
		r.Success = o.Ended
	}
	return r
}

// closingTime is the time limit for running requests at the end.
const closingTime = time.Second

// listener serves the current run's metrics, and records the time of the last progress. It does not report the end:
// the server ends with the process.
type listener struct {
	server *metrics.Server
	moved  atomic.Int64 // nanoseconds of Unix time
	paused atomic.Bool
}

func (l *listener) lastMoved() time.Time { return time.Unix(0, l.moved.Load()) }

func (t *telemetryFlags) serve(s *Session, l metrics.Labels) (*listener, error) {
	if _, _, err := net.SplitHostPort(t.listen); err != nil {
		return nil, fmt.Errorf("%q is not a host:port", t.listen)
	}
	w := &listener{}
	w.moved.Store(time.Now().UnixNano())
	var err error
	w.server, err = metrics.Serve(t.listen, metrics.ServeOptions{Labels: l, Stalled: t.stalledAfter, Log: s.log,
		Live: metrics.Live{Progress: s.tracker.Progress, Moved: w.lastMoved, Paused: w.paused.Load, Build: s.program.Build}})
	if err == nil {
		s.log.Info("listening", "address", w.server.Addr())
	}
	return w, err
}

// Events record the time of all work. Notes and warnings do not count, since a retry warns endlessly.
func (l *listener) Events() progress.Events {
	move := func() { l.moved.Store(time.Now().UnixNano()) }
	return progress.Events{
		OnStart:   func(progress.Start) { move() },
		OnPhase:   func(string) { move() },
		OnScanned: func(int64) { move() },
		OnRows:    func(int64, int64) { move() },
		OnSplit:   move,
		OnSpill:   func(int64, int64) { move() },
		OnMerged:  func(int64) { move() },
		OnWritten: func(int64) { move() },
		OnHFile:   func(progress.HFile) { move() },
		OnChecked: func(int64) { move() },
		OnLoad:    func(string, int) { move() },
		OnRead:    func(int64) { move() },
		OnPause:   func(p progress.Pause) { l.paused.Store(p.Reason != ""); move() },
	}
}

func (l *listener) End(ctx context.Context, _ ending.Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, closingTime)
	defer cancel()
	return l.server.Close(ctx)
}

// Watch selects the targets of a job's reports, besides the log.
type Watch struct {
	report  string // off: none
	records bool   // the report shows bad records
	telemetryFlags
	progress string // form of the progress

	resultOnly bool
}

// Add registers the flags of a command that reads records.
func (w *Watch) Add(f *pflag.FlagSet) {
	w.AddLoad(f)
	settings.Bind(f, settings.To{"report-records": &w.records})
}

// AddLoad registers the flags of a command that reads no records.
func (w *Watch) AddLoad(f *pflag.FlagSet) {
	w.AddResult(f)
	w.resultOnly = false
	settings.Bind(f, settings.To{"report": &w.report})
	w.telemetryFlags.add(f)
}

// AddResult registers the flags of a command that has a result and a view, but no other reports.
func (w *Watch) AddResult(f *pflag.FlagSet) {
	w.resultOnly = true
	settings.Bind(f, settings.To{"result-file": new(string), "progress": &w.progress})
}

// observe adds the observers that the flags select. It detects wrong flags before any work begins. A live view is the last
// observer: it ends after the output of all others.
func (w *Watch) observe(s *Session) error {
	if !w.resultOnly && w.report != "off" {
		r, err := report.Gather(report.Options{Cmd: s.cmd, Spec: s.about.Spec, Tracker: &s.tracker, File: w.report, Records: w.records})
		if err != nil {
			return err
		}
		s.observers = append(s.observers, r)
	}
	s.observers = append(s.observers, &stateWriter{session: s}) // after the report, whose path it records
	if !w.resultOnly {
		if err := w.telemetryFlags.observe(s); err != nil {
			return err
		}
	}
	switch {
	case w.progress == "off" || s.program.logs.quiet:
	case w.progress != "lines" && ui.CanDraw(s.program.Console.File): // the terminal can move its cursor
		v := ui.NewLive(&s.tracker, s.program.Console)
		s.observers = append(s.observers, atEnd(func(_ context.Context, o ending.Outcome) error {
			v.End(o.Err != nil)
			return nil
		}))
	default:
		lines := ui.NewLines(&s.tracker, s.log)
		s.observers = append(s.observers, atEnd(func(context.Context, ending.Outcome) error {
			lines.End()
			return nil
		}))
	}
	return nil
}
