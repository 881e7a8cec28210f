package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"

	"github.com/spf13/pflag"
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
