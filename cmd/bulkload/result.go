package main

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"

	"github.com/spf13/cobra"
)

// resultObject is what run, build, merge and load say at their end with --output json. docs/result.schema.json is its schema,
// docs/result.md says what its fields mean. Fields may be added; none goes or changes its meaning within a schema.
type resultObject struct {
	Schema    int           `json:"schema"`
	Status    string        `json:"status"`
	ExitCode  int           `json:"exit_code"`
	Error     string        `json:"error,omitempty"`
	ErrorKind string        `json:"error_kind,omitempty"`
	Command   string        `json:"command"`
	Version   string        `json:"version"`
	Host      string        `json:"host"`
	PID       int           `json:"pid"`
	Table     string        `json:"table"`
	Job       string        `json:"job"`
	JobID     string        `json:"job_id"`
	Attempt   int           `json:"attempt"`
	Began     time.Time     `json:"began"`
	Ended     time.Time     `json:"ended"`
	Seconds   float64       `json:"seconds"`
	Phases    []resultPhase `json:"phases"`
	Warnings  int           `json:"warnings"`
	Rejected  int64         `json:"rejected"`
	Filtered  int64         `json:"filtered,omitempty"`
	Rates     *resultRates  `json:"rates,omitempty"`
	Report    string        `json:"report,omitempty"`

	Reading *progress.Reading `json:"reading,omitempty"`

	*result.Result
	// Build printed its manifest before there was this object: its fields stay where they were.
	*manifest.Manifest
}

// resultPhase is a phase that was begun.
type resultPhase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Rows    int64   `json:"rows,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Files   int64   `json:"files,omitempty"`
}

// resultRates are over the whole time.
type resultRates struct {
	Rows   float64 `json:"rows_per_second"`
	Input  float64 `json:"input_bytes_per_second"`
	HFiles float64 `json:"hfile_bytes_per_second"`
}

// result is how a command that works on a job ended, which may not have come as far as a session.
func (g *globals) result(cmd *cobra.Command, err error, code int) *resultObject {
	if g.session == nil {
		now := time.Now().UTC()
		r := &resultObject{Began: now, Ended: now, Phases: []resultPhase{}}
		r.Table, r.JobID = valueOf(cmd, "table"), valueOf(cmd, "job-id")
		r.end(cmd, err, code)
		return r
	}
	r := g.session.result()
	r.end(cmd, err, code)
	return r
}

// valueOf is the value of a flag, empty if the command has none of that name.
func valueOf(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

func (r *resultObject) end(cmd *cobra.Command, err error, code int) {
	r.Schema, r.Command, r.Version, r.PID = 1, commandName(cmd), version, os.Getpid()
	r.Host, _ = os.Hostname()
	r.Status, r.ExitCode = statusOf(code, r.Result), code
	r.Error = errorText(err)
	if code > exitSignal {
		r.Error = "stopped by a signal: " + r.Error
	}
	if r.Error != "" {
		r.ErrorKind = kindOfCode(code)
	}
}

// result is what a session knows at its end, without how it ended.
func (s *session) result() *resultObject {
	o := s.outcome
	if o == nil { // an observer's flag was wrong
		o = &outcome{began: s.began, ended: time.Now()}
	}
	p := o.progress
	r := &resultObject{Began: o.began.UTC(), Ended: o.ended.UTC(), Seconds: seconds(o.ended.Sub(o.began)), Phases: []resultPhase{}, Warnings: p.Warnings,
		Table: cmp.Or(p.Start.Table, s.spec.Table), Job: p.Start.Job, JobID: cmp.Or(p.Start.JobID, valueOf(s.cmd, "job-id")), Attempt: p.Start.Attempt,
		Report: s.report}
	for _, phase := range p.Sums() {
		r.Phases = append(r.Phases, resultPhase{phase.Name, seconds(phase.Ended.Sub(phase.Began)), phase.Done.Rows, phase.Done.Bytes, phase.Done.Files})
	}
	if p.Start.Parts == 0 { // each directory of a run that was split is read in its own way
		r.Reading = p.Start.Reading
	}
	if o.result == nil {
		return r
	}
	r.Result = o.result.Summary()
	if r.Elapsed == 0 {
		r.Elapsed = o.ended.Sub(o.began)
	}
	r.Table, r.Job, r.Attempt = cmp.Or(r.Result.Table, r.Table), cmp.Or(r.Result.Job, r.Job), cmp.Or(r.Result.Attempt, r.Attempt)
	if abs, err := filepath.Abs(r.Job); err == nil && r.Job != "" {
		r.Job = abs // the reader may be elsewhere
	}
	if r.Share != nil {
		r.Rejected, r.Filtered = r.Share.Rejected, r.Share.Filtered
	}
	m := r.Result.Manifest
	if m == nil {
		return r
	}
	r.Rejected, r.Filtered = m.Rejected, m.Filtered
	if s.cmd.Name() == "build" {
		r.Manifest = m
	}
	if all := r.Seconds; all > 0 && len(r.Phases) > 0 && o.err == nil {
		rows, input, written := m.Digest.Rows, p.Start.Bytes, m.Bytes
		if len(r.Result.Parts) > 0 {
			rows, input, written = r.Result.Parts.Done()
		}
		r.Rates = &resultRates{float64(rows) / all, float64(input) / all, float64(written) / all}
	}
	return r
}

// seconds prints a time span with milliseconds.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
