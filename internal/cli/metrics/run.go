package metrics

import (
	"math"
	"slices"
	"strings"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"

	"github.com/prometheus/client_golang/prometheus"
)

// Run provides the metrics of a run that has ended.
type Run struct {
	ending.Outcome
	Input   progress.Amount // files and bytes, in their stored size
	Loads   bool            // the run is about a table, not only about files
	Given   bool            // the run loads HFiles that there are: only a manifest says what is in them
	Further []string        // further tables and indexes of the job
	Success time.Time       // time of the latest success; zero: not known, or none
	Build   Build
}

// Build identifies the program.
type Build struct{ Version, Revision, Go string }

// phases are all phases that a run can have, in order.
var phases = []string{"read", "sort", "write", "snapshot", "check", "replace", "upload", "load", "verify"}

// lastRun are the metrics of a run that has ended. Metrics of work that a failed run did not reach are 0, so that
// rules find every metric.
var lastRun = []metric[*Run]{
	{name: "bulkload_last_success_timestamp_seconds", help: "Unix time at which a run last ended with its data in place; a failure leaves it as it was, and so does a run that finds its job done before.",
		report: func(r *Run, set func(float64, ...string)) {
			if !r.Success.IsZero() {
				set(seconds(r.Success))
			}
		}},
	{name: "bulkload_last_run_timestamp_seconds", help: "Unix time at which the last run ended, whatever its outcome.", report: one(func(r *Run) float64 { return seconds(r.Ended) })},
	{name: "bulkload_last_run_exit_code", help: "Exit code of the last run: 0 is done, also by an earlier run; the others are in the command's help.", report: one(func(r *Run) float64 { return float64(r.Code) })},
	{name: "bulkload_last_run_already_done", help: "1 if the last run found its job done by an earlier one, and did nothing.", report: one(func(r *Run) float64 { return truth(r.Result != nil && r.Result.Already) })},
	{name: "bulkload_last_run_attempt", help: "Number of the job's attempt that the last run was, from 1; 0 if it did not begin.", report: one(func(r *Run) float64 { return float64(r.attempt()) })},
	{name: "bulkload_last_run_duration_seconds", help: "How long the last run took, from the command's start to its end.", report: one(func(r *Run) float64 { return r.Ended.Sub(r.Began).Seconds() })},
	{name: "bulkload_last_run_phase_duration_seconds", help: "How long each phase of the last run took; 0 for phases that it did not have.", labels: []string{"phase"}, report: (*Run).reportPhases},
	{name: "bulkload_last_run_input_files", help: "Input files of the last run.", report: one(func(r *Run) float64 { return float64(r.Input.Files) })},
	{name: "bulkload_last_run_input_bytes", help: "Size of the last run's input files, as they are stored.", report: one(func(r *Run) float64 { return float64(r.Input.Bytes) })},
	{name: "bulkload_last_run_records_read", help: "Records that the last run read, good and bad.", report: amount(func(m *manifest.Manifest) float64 { return float64(m.Records) })},
	{name: "bulkload_last_run_records_rejected", help: "Bad records that the last run set aside.", report: one(func(r *Run) float64 { return float64(r.manifest().Rejected) })},
	{name: "bulkload_last_run_records_filtered", help: "Records that the filter of the last run left out.", report: one(func(r *Run) float64 { return float64(r.manifest().Filtered) })},
	{name: "bulkload_last_run_expectations", help: "Expectations of the last run's job file by their results: passed, failed, warned (not met, with severity warn) or unchecked (nothing to compare with).",
		labels: []string{"outcome"}, report: (*Run).reportExpectations},
	{name: "bulkload_last_run_duplicate_rows", help: "Rows (of wide rows, cells) that the last run left out because another has their key.", report: one(func(r *Run) float64 { return float64(r.manifest().Duplicates) })},
	{name: "bulkload_last_run_rows_written", help: "Rows in the HFiles of the last run; of the build of a share, rows that it sorted.", report: amount(func(m *manifest.Manifest) float64 { return float64(m.Digest.Rows) })},
	{name: "bulkload_last_run_cells_written", help: "Cells in the HFiles of the last run.", report: amount(func(m *manifest.Manifest) float64 { return float64(m.Digest.Cells) })},
	{name: "bulkload_last_run_hfiles_written", help: "HFiles of the last run.", report: amount(func(m *manifest.Manifest) float64 { return float64(m.HFiles) })},
	{name: "bulkload_last_run_hfiles_bytes", help: "Size of the last run's HFiles.", report: amount(func(m *manifest.Manifest) float64 { return float64(m.Bytes) })},
	{name: "bulkload_last_run_spilled_bytes", help: "Sorted rows that the last run put on disk because they did not fit in its memory.", report: one(func(r *Run) float64 { return float64(r.manifest().SpillBytes) })},
	{name: "bulkload_last_run_regions_loaded", help: "Regions that took files of the last run.", report: one(func(r *Run) float64 { return float64(r.result().Regions) })},
	{name: "bulkload_last_run_further_rows_written", help: "Rows in the HFiles of each further table and index of the last run; the metrics without that label are of the job's own table.", labels: []string{"further"},
		report: furtherTables(func(t result.Table) float64 { return float64(t.Manifest.Digest.Rows) })},
	{name: "bulkload_last_run_further_hfiles_bytes", help: "Size of the HFiles of each further table and index.", labels: []string{"further"},
		report: furtherTables(func(t result.Table) float64 { return float64(t.Manifest.Bytes) })},
	{name: "bulkload_last_run_further_regions_loaded", help: "Regions of each further table and index that took files.", labels: []string{"further"},
		report: furtherTables(func(t result.Table) float64 { return float64(t.Regions) })},
	{name: "bulkload_last_run_verified", help: "1 if the last run read its tables back and found what was written; 0 if it did not look, verification inconclusive, or something else found. Builds do not have it.", report: func(r *Run, set func(float64, ...string)) {
		if r.Loads {
			set(truth(r.verified()))
		}
	}},
	{name: "bulkload_last_run_warnings", help: "Warnings of the last run.", report: one(func(r *Run) float64 { return float64(r.Progress.Warnings) })},
	{name: "bulkload_build_info", help: "Always 1; the labels are those of the program.", labels: []string{"version", "revision", "goversion"}, report: func(r *Run, set func(float64, ...string)) { r.Build.report(set) }},
}

// Collector returns a collector of the run's metrics, without the labels of the job.
func (r *Run) Collector() prometheus.Collector {
	return newCollector(lastRun, func() *Run { return r })
}

func (b Build) report(set func(float64, ...string)) { set(1, b.Version, b.Revision, b.Go) }

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (r *Run) result() *result.Result {
	if r.Result == nil {
		return &result.Result{}
	}
	return r.Result.OfRun()
}

// manifest returns the amounts: those of the build if it finished, otherwise the amounts done so far.
func (r *Run) manifest() *manifest.Manifest { return r.result().Amounts(r.Progress) }

// amount returns a function that reports an amount of what was read and written. It is NaN if that is not known, of a load of HFiles without a manifest: a
// metric that is left out keeps the value of an earlier run at the Pushgateway.
func amount(of func(m *manifest.Manifest) float64) func(r *Run, set func(float64, ...string)) {
	return one(func(r *Run) float64 {
		if r.Given && r.Code == 0 && r.result().Manifest == nil {
			return math.NaN()
		}
		return of(r.manifest())
	})
}

func (r *Run) reportExpectations(set func(float64, ...string)) {
	counts := map[string]int{}
	for _, f := range r.result().Findings() {
		switch {
		case !f.Bad():
			counts[f.Status]++
		case f.Severity == expectation.Warn:
			counts["warned"]++
		default:
			counts[expectation.Failed]++
		}
	}
	for _, outcome := range []string{expectation.Passed, expectation.Failed, "warned", expectation.Unchecked} {
		set(float64(counts[outcome]), outcome)
	}
}

func (r *Run) attempt() int {
	if n := r.result().Attempt; n > 0 {
		return n
	}
	return r.Progress.Start.Attempt
}

func (r *Run) verified() bool {
	shown := func(v *result.Verification) bool { return v != nil && v.Mode != "off" && !v.Expired }
	return r.Code == 0 && shown(r.result().Verify) && !slices.ContainsFunc(r.result().Tables, func(t result.Table) bool { return !shown(t.Verify) })
}

// furtherTables returns a function that reports a value for each further table of the run. One that a failed run did not reach has 0: the Pushgateway
// keeps what it has of an earlier run otherwise.
func furtherTables(value func(t result.Table) float64) func(r *Run, set func(float64, ...string)) {
	return func(r *Run, set func(float64, ...string)) {
		all := slices.Clone(r.result().Tables)
		if r.Code != 0 {
			for _, name := range r.Further {
				name = strings.TrimPrefix(name, "default:")
				if !slices.ContainsFunc(all, func(t result.Table) bool { return t.Table == name }) {
					all = append(all, result.Table{Table: name})
				}
			}
		}
		for _, t := range all {
			if t.Manifest == nil {
				t.Manifest = &manifest.Manifest{}
			}
			set(value(t), t.Table)
		}
	}
}

func (r *Run) reportPhases(set func(float64, ...string)) {
	took := durations(r.Progress)
	for _, name := range phases {
		set(took[name].Seconds(), name)
	}
}

// durations returns the durations of the phases, by name.
func durations(p progress.Progress) map[string]time.Duration {
	took := map[string]time.Duration{}
	for _, phase := range p.Phases {
		end := phase.Ended
		if end.IsZero() {
			end = p.At
		}
		took[phase.Name] += end.Sub(phase.Began)
	}
	return took
}
