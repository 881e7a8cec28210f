package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"bulkload/internal/deliver"
	"bulkload/internal/lineage"
	"bulkload/internal/metrics"
	"bulkload/internal/settings"

	"github.com/spf13/cobra"
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

	subject subject // which the command gives before it observes
}

func (t *telemetryFlags) add(f *pflag.FlagSet) {
	f.StringVar(&t.metricsFile, "metrics-file", "", "at the end, also of a failure: metrics of this run for node_exporter's textfile collector, FILE.prom")
	f.StringVar(&t.metricsPush, "metrics-push", "", "at the end, also of a failure: push these metrics to a Pushgateway, http://host:9091 (with user and password: in the environment, BULKLOAD_METRICS_PUSH)")
	f.StringArrayVar(&t.metricLabels, "metrics-label", nil, "name=value of every metric in addition to the table, such as team=risk; may be repeated; no dates")
	f.StringVar(&t.listen, "listen", "", "while the job works: /metrics, /healthz and /status by HTTP on host:port, such as 127.0.0.1:9400")
	f.DurationVar(&t.stalledAfter, "stalled-after", 10*time.Minute, "time without progress after which /healthz answers 503; 0: never")
	f.StringVar(&t.lineage, "openlineage", "", "OpenLineage events: a file to append to, or a server's address (default: what OPENLINEAGE_URL says)")
	f.StringVar(&t.lineageJob, "openlineage-job", "", "the job's name in these events (default bulkload.COMMAND.TABLE with a digest of the key)")
}

// observe adds the observers that the flags ask for. What could be wrong with a flag is found before anything is begun.
func (t *telemetryFlags) observe(cmd *cobra.Command, s *session) error {
	labels, err := metrics.ParseLabels(t.subject.table(), t.metricLabels)
	if err != nil {
		return usageError{settings.AboutFlags(fmt.Errorf("--metrics-label: %w", err), "metrics-label")}
	}
	all := together{ctx: s.ctx, input: &inputs{}}
	if t.metricsFile != "" {
		if info, err := os.Stat(t.metricsFile); err == nil && info.IsDir() {
			return usageError{settings.AboutFlags(fmt.Errorf("--metrics-file %s is a directory: name a file in it that ends in .prom", t.metricsFile), "metrics-file")}
		}
		all.parts = append(all.parts, metricsFile{t.metricsFile, labels, t.subject, all.input})
	}
	if t.metricsPush != "" {
		target, err := deliver.ParseTarget(t.metricsPush)
		if err == nil && target.Query() != "" {
			err = errors.New("a Pushgateway's address has no query")
		}
		if err != nil {
			return usageError{settings.AboutFlags(fmt.Errorf("--metrics-push: %w", err), "metrics-push")}
		}
		all.parts = append(all.parts, metricsPush{target, labels, t.subject, all.input})
	}
	if t.stalledAfter < 0 {
		return usageError{settings.AboutFlags(fmt.Errorf("--stalled-after %s is below 0", t.stalledAfter), "stalled-after")}
	}
	sink, err := lineage.Open(t.lineage, os.Getenv)
	if err != nil && t.lineage != "" {
		return usageError{settings.AboutFlags(fmt.Errorf("--openlineage: %w", err), "openlineage")}
	} else if err != nil { // what an orchestrator has in its environment is not this caller's fault
		s.log.Warn("no events for OpenLineage", "error", err)
	}
	if t.listen != "" {
		l, err := t.serve(s, labels)
		if err != nil {
			return usageError{settings.AboutFlags(fmt.Errorf("--listen: %w", err), "listen")}
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
