package metrics

import (
	"time"

	"bulkload/internal/model/progress"

	"github.com/prometheus/client_golang/prometheus"
)

// Live provides the metrics of the current run.
type Live struct {
	Progress func() progress.Progress
	Moved    func() time.Time // time of the last progress
	Paused   func() bool      // the job is paused; nil: it never is
	Build    Build
}

// moment is the state of a run at one moment.
type moment struct {
	progress.Progress
	moved  time.Time
	paused bool
	build  Build
}

// live are the metrics of the current run. Counters begin at 0 with each process.
var live = []metric[moment]{
	{name: "bulkload_phase_active", help: "1 for the phase that is under way, 0 for the others.", labels: []string{"phase"}, report: moment.reportActive},
	{name: "bulkload_phase_duration_seconds", help: "How long each phase has taken up to now.", labels: []string{"phase"}, report: moment.reportDurations},
	{name: "bulkload_phase_done_ratio", help: "How much of a phase is done, from 0 to 1; left out where it is not known.", labels: []string{"phase"}, report: moment.reportRatios},
	{name: "bulkload_last_progress_timestamp_seconds", help: "Unix time at which something was last done.", report: one(func(m moment) float64 { return seconds(m.moved) })},
	{name: "bulkload_paused", help: "1 while the job is paused, or waits for its hours.", report: one(func(m moment) float64 { return truth(m.paused) })},
	{name: "bulkload_attempt", help: "Number of the job's attempt, from 1; 0 until it begins.", report: one(func(m moment) float64 { return float64(m.Start.Attempt) })},
	{name: "bulkload_input_files", help: "Input files; of a job for each of several directories, those of the one under way.", report: one(func(m moment) float64 { return float64(m.Start.Files) })},
	{name: "bulkload_input_bytes", help: "Size of these input files, as they are stored.", report: one(func(m moment) float64 { return float64(m.Start.Bytes) })},
	{name: "bulkload_read_rows_total", help: "Rows read and added to the sort.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.done("read").Rows) })},
	{name: "bulkload_read_bytes_total", help: "Bytes of input read.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.done("read").Bytes) })},
	{name: "bulkload_spilled_rows_total", help: "Sorted rows put on disk because they did not fit in memory.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.Spilled.Rows) })},
	{name: "bulkload_spilled_bytes_total", help: "Bytes of sorted rows put on disk.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.Spilled.Bytes) })},
	{name: "bulkload_merged_rows", help: "Rows taken out of the sort into HFiles; it goes back when a region is written again.", report: one(func(m moment) float64 { return float64(m.done("write").Rows) })},
	{name: "bulkload_written_bytes_total", help: "Bytes of HFiles handed to the file system.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.Written) })},
	{name: "bulkload_hfiles_total", help: "HFiles that are complete.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.HFiles.Files) })},
	{name: "bulkload_loaded_files_total", help: "Files that HBase has taken.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.done("load").Files) })},
	{name: "bulkload_verified_rows_total", help: "Rows of the table that verification has read.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.done("verify").Rows) })},
	{name: "bulkload_yarn_tasks", help: "Tasks of a job on YARN by kind, map or reduce, and state: waiting, running, done; left out of a job that is built in one process.", labels: []string{"kind", "state"}, report: moment.reportTasks},
	{name: "bulkload_yarn_failed_attempts", help: "Failed attempts at tasks. The tasks may have succeeded since.", report: moment.reportFailed},
	{name: "bulkload_warnings_total", help: "Warnings.", kind: prometheus.CounterValue, report: one(func(m moment) float64 { return float64(m.Warnings) })},
	{name: "bulkload_build_info", help: "Always 1; the labels are those of the program.", labels: []string{"version", "revision", "goversion"},
		report: func(m moment, set func(float64, ...string)) { m.build.report(set) }},
}

// Collector returns a collector of the run's metrics, without the labels of the job.
func (l Live) Collector() prometheus.Collector {
	return newCollector(live, func() moment { return moment{l.Progress(), l.Moved(), l.paused(), l.Build} })
}

func (l Live) paused() bool { return l.Paused != nil && l.Paused() }

// done returns the amount done in a phase, summed over all its occurrences.
func (m moment) done(phase string) progress.Amount {
	var sum progress.Amount
	for _, p := range m.Phases {
		if p.Name == phase {
			sum = progress.Amount{Rows: sum.Rows + p.Done.Rows, Bytes: sum.Bytes + p.Done.Bytes, Files: sum.Files + p.Done.Files}
		}
	}
	return sum
}

func (m moment) reportActive(set func(float64, ...string)) {
	now := Phase(m.Progress)
	for _, name := range phases {
		set(truth(name == now), name)
	}
}

func (m moment) reportDurations(set func(float64, ...string)) {
	for name, took := range durations(m.Progress) {
		set(took.Seconds(), name)
	}
}

func (m moment) reportRatios(set func(float64, ...string)) {
	last := map[string]float64{}
	for _, p := range m.Phases {
		if f, ok := p.Fraction(); ok {
			last[p.Name] = f
		}
	}
	for name, f := range last {
		set(f, name)
	}
}

func (m moment) reportTasks(set func(float64, ...string)) {
	t := m.Tasks
	if t.Application == "" {
		return
	}
	for _, k := range []struct {
		kind               string
		all, done, running int
	}{{"map", t.Maps, t.MapsDone, t.MapsRunning}, {"reduce", t.Reduces, t.ReducesDone, t.ReducesRunning}} {
		set(float64(max(k.all-k.done-k.running, 0)), k.kind, "waiting")
		set(float64(k.running), k.kind, "running")
		set(float64(k.done), k.kind, "done")
	}
}

func (m moment) reportFailed(set func(float64, ...string)) {
	if m.Tasks.Application != "" {
		set(float64(m.Tasks.Failed))
	}
}

// Phase returns the name of the current phase. It is empty before the first phase, and between a phase's end and the
// next phase.
func Phase(p progress.Progress) string {
	if n := len(p.Phases); n > 0 && p.Phases[n-1].Ended.IsZero() {
		return p.Phases[n-1].Name
	}
	return ""
}
