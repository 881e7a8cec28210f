package session

import (
	"errors"
	"fmt"
	"os"
	"time"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"

	"github.com/spf13/pflag"
)

// telemetryFlags say to which machines a job reports.
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

// observe adds the observers that the flags ask for.
func (t *telemetryFlags) observe(s *Session) error {
	labels, err := metrics.ParseLabels(s.about.Table(), t.metricLabels)
	if err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-label: %w", err), "metrics-label"))
	}
	all := together{ctx: s.ctx, input: &inputs{}}
	if t.metricsFile != "" {
		if info, err := os.Stat(t.metricsFile); err == nil && info.IsDir() {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-file %s is a directory: name a file in it that ends in .prom", t.metricsFile), "metrics-file"))
		}
		all.parts = append(all.parts, metricsFile{t.metricsFile, labels, s, all.input})
	}
	if t.metricsPush != "" {
		target, err := deliver.ParseTarget(t.metricsPush)
		if err == nil && target.Query() != "" {
			err = errors.New("a Pushgateway's address has no query")
		}
		if err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--metrics-push: %w", err), "metrics-push"))
		}
		all.parts = append(all.parts, metricsPush{target, labels, s, all.input})
	}
	sink, err := lineage.Open(t.lineage, os.Getenv)
	if err != nil && t.lineage != "" {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--openlineage: %w", err), "openlineage"))
	} else if err != nil { // what an orchestrator has in its environment is not this caller's fault
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
		all.parts = append(all.parts, lineage.Observe(sink, lineage.Options{Cmd: s.cmd, Log: s.log, About: s.about, Job: t.lineageJob, Version: s.Version, Input: all.input.amount}))
	}
	if len(all.parts) > 0 {
		s.observers = append(s.observers, all)
	}
	return nil
}
