package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"bulkload/internal/deliver"
	"bulkload/internal/lineage"
	"bulkload/internal/metrics"
	"bulkload/pkg/job"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// tellingTime bounds what is told at an end: three tries of 10 s and their pauses.
	tellingTime = 35 * time.Second
	// stoppedTellingTime is what is left of it from a stop on, which has 15 s in all and needs nearly all of them for HBase
	// and HDFS.
	stoppedTellingTime = 1500 * time.Millisecond
)

// telemetryFlags say which machines are told of a job.
type telemetryFlags struct {
	metricsFile  string
	metricsPush  string
	metricLabels []string
	listen       string
	stalledAfter time.Duration
	lineage      string
	lineageJob   string

	subject subject // which the command gives before it observes
}

func (t *telemetryFlags) add(f *pflag.FlagSet) {
	f.StringVar(&t.metricsFile, "metrics-file", "", "at the end, also of a failure: metrics of this run for node_exporter's textfile collector, FILE.prom")
	f.StringVar(&t.metricsPush, "metrics-push", "", "at the end, also of a failure: push these metrics to a Pushgateway, http://host:9091 (with user and password: in the environment, BULKLOAD_METRICS_PUSH)")
	f.StringArrayVar(&t.metricLabels, "metrics-label", nil, "name=value of every metric beside the table, such as team=risk; may be repeated; no dates")
	f.StringVar(&t.listen, "listen", "", "while the job works: /metrics, /healthz and /status by HTTP on host:port, such as 127.0.0.1:9400")
	f.DurationVar(&t.stalledAfter, "stalled-after", 10*time.Minute, "time without progress after which /healthz answers 503; 0: never")
	f.StringVar(&t.lineage, "openlineage", "", "OpenLineage events: a file to append to, or a server's address (default: what OPENLINEAGE_URL says)")
	f.StringVar(&t.lineageJob, "openlineage-job", "", "the job's name in these events (default bulkload.COMMAND.TABLE with a digest of the key)")
}

// observe adds the observers that the flags ask for. What could be wrong with a flag is found before anything is begun.
func (t *telemetryFlags) observe(cmd *cobra.Command, s *session) error {
	labels, err := metrics.ParseLabels(t.subject.table(), t.metricLabels)
	if err != nil {
		return usageError{fmt.Errorf("--metrics-label: %w", err)}
	}
	all := together{ctx: s.ctx, input: &inputs{}}
	if t.metricsFile != "" {
		if info, err := os.Stat(t.metricsFile); err == nil && info.IsDir() {
			return usageError{fmt.Errorf("--metrics-file %s is a directory: name a file in it that ends in .prom", t.metricsFile)}
		}
		all.parts = append(all.parts, metricsFile{t.metricsFile, labels, t.subject, all.input})
	}
	if t.metricsPush != "" {
		target, err := deliver.ParseTarget(t.metricsPush)
		if err == nil && target.Query() != "" {
			err = errors.New("a Pushgateway's address has no query")
		}
		if err != nil {
			return usageError{fmt.Errorf("--metrics-push: %w", err)}
		}
		all.parts = append(all.parts, metricsPush{target, labels, t.subject, all.input})
	}
	if t.stalledAfter < 0 {
		return usageError{fmt.Errorf("--stalled-after %s is below 0", t.stalledAfter)}
	}
	sink, err := lineage.Open(t.lineage, os.Getenv)
	if err != nil {
		return usageError{fmt.Errorf("--openlineage: %w", err)}
	}
	if t.listen != "" {
		l, err := t.serve(s, labels)
		if err != nil {
			return usageError{fmt.Errorf("--listen: %w", err)}
		}
		all.parts = append(all.parts, l)
	}
	if sink != nil {
		begin, end := nominal(cmd)
		all.parts = append(all.parts, newLineageObserver(sink, t.subject.command, all.input, describeRun(s.log, t.subject, t.lineageJob, begin, end, os.Getenv)))
	}
	if len(all.parts) > 0 {
		s.observers = append(s.observers, all)
	}
	return nil
}

// teller is an observer whose end may take time, which a context bounds.
type teller interface {
	events() job.Events
	tell(ctx context.Context, o outcome) error
}

// together is observers that tell at the same time, so that one that waits for an answer does not keep the others.
type together struct {
	ctx   context.Context // the command's, which a signal ends
	parts []teller
	input *inputs
}

func (t together) events() job.Events {
	all := []job.Events{t.input.events()}
	for _, p := range t.parts {
		all = append(all, p.events())
	}
	return job.Tee(all...)
}

func (t together) end(o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), tellingTime)
	defer cancel()
	defer context.AfterFunc(t.ctx, func() { time.AfterFunc(stoppedTellingTime, cancel) })()
	errs := make([]error, len(t.parts))
	var wait sync.WaitGroup
	for i, p := range t.parts {
		wait.Go(func() { errs[i] = p.tell(ctx, o) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// inputs are all that a command has read or is to read: a command may do several jobs, one after the other.
type inputs struct {
	mu  sync.Mutex
	sum job.Amount
}

func (i *inputs) events() job.Events {
	return job.Events{OnStart: func(s job.Start) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.sum.Files += int64(s.Files)
		i.sum.Bytes += s.Bytes
	}}
}

func (i *inputs) amount() job.Amount {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sum
}

// metricsFile writes the metrics of the run that has ended.
type metricsFile struct {
	name    string
	labels  metrics.Labels
	subject subject
	input   *inputs
}

func (m metricsFile) events() job.Events { return job.Events{} }

func (m metricsFile) tell(_ context.Context, o outcome) error {
	return metrics.WriteFile(m.name, lastRun(m.subject, m.input.amount(), o), m.labels)
}

// metricsPush pushes the metrics of the run that has ended.
type metricsPush struct {
	to      deliver.Target
	labels  metrics.Labels
	subject subject
	input   *inputs
}

func (m metricsPush) events() job.Events { return job.Events{} }

func (m metricsPush) tell(ctx context.Context, o outcome) error {
	return metrics.Push(ctx, m.to, deliver.Tries, lastRun(m.subject, m.input.amount(), o), m.labels)
}

// lastRun is a run as metrics know it. A job that was done before was successful then, not now: a cron line that asks for
// the same day night after night must not look healthy.
func lastRun(s subject, input job.Amount, o outcome) metrics.Run {
	r := metrics.Run{Code: o.code, Began: o.began, Ended: o.ended, Result: o.result, Input: input, Progress: o.progress, Loads: s.command != "build", Build: program()}
	switch {
	case o.err != nil:
	case o.result != nil && o.result.Already:
		r.Success = o.result.DoneAt
	default:
		r.Success = o.ended
	}
	return r
}

// program is which program this is.
func program() metrics.Build {
	b := metrics.Build{Version: version}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

// serve opens the server of a run under way.
func (t *telemetryFlags) serve(s *session, l metrics.Labels) (*listener, error) {
	if _, _, err := net.SplitHostPort(t.listen); err != nil {
		return nil, fmt.Errorf("%q is no host:port", t.listen)
	}
	w := &listener{}
	w.moved.Store(time.Now().UnixNano())
	var err error
	w.server, err = metrics.Serve(t.listen, metrics.ServeOptions{Labels: l, Stalled: t.stalledAfter, Log: s.log,
		Live: metrics.Live{Progress: s.tracker.Progress, Moved: w.lastMoved, Build: program()}})
	if err == nil {
		s.log.Info("listening", "address", w.server.Addr())
	}
	return w, err
}
