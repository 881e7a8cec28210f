package ending

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"

	"github.com/spf13/cobra"
)

// Outcome describes how a command's work on a job ended.
type Outcome struct {
	Result   *result.Result // nil if nothing is known
	Err      error
	Code     int // the exit code
	Began    time.Time
	Ended    time.Time
	Progress progress.Progress
	Object   *Object // of [Outcome.Describe]
}

// Object is the final output of run, build, merge and load with --output json. Its schema is docs/result.schema.json,
// and docs/result.md describes its fields. Within a schema version fields may be added, but none is removed and none
// changes its meaning.
type Object struct {
	Schema    int       `json:"schema"`
	Status    string    `json:"status"`
	ExitCode  int       `json:"exit_code"`
	Error     string    `json:"error,omitempty"`
	ErrorKind string    `json:"error_kind,omitempty"`
	Command   string    `json:"command"`
	Version   string    `json:"version"`
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Table     string    `json:"table"`
	Job       string    `json:"job"`
	JobID     string    `json:"job_id"`
	Attempt   int       `json:"attempt"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended"`
	Seconds   float64   `json:"seconds"`
	Phases    []phase   `json:"phases"`
	Warnings  int       `json:"warnings"`
	Rejected  int64     `json:"rejected"`
	Filtered  int64     `json:"filtered,omitempty"`
	Rates     *rates    `json:"rates,omitempty"`
	Report    string    `json:"report,omitempty"`

	Reading *progress.Reading `json:"reading,omitempty"`

	*result.Result
	// Build printed its manifest before Object existed: the manifest's fields stay at the top level.
	*manifest.Manifest
}

// phase is a phase that has begun.
type phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Rows    int64   `json:"rows,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Files   int64   `json:"files,omitempty"`
}

// rates are averages over the whole time.
type rates struct {
	Rows   float64 `json:"rows_per_second"`
	Input  float64 `json:"input_bytes_per_second"`
	HFiles float64 `json:"hfile_bytes_per_second"`
}

// Failure is the output of a failed command that has no result of a job.
type Failure struct {
	Schema    int    `json:"schema"`
	Command   string `json:"command"`
	Status    string `json:"status"`
	ExitCode  int    `json:"exit_code"`
	Error     string `json:"error,omitempty"`
	ErrorKind string `json:"error_kind,omitempty"`
}

// NewFailure describes the failure of a command; cmd is nil if no command was found.
func NewFailure(cmd *cobra.Command, err error, code int) Failure {
	return Failure{Schema: 1, Command: CommandName(cmd), Status: statusOf(code, nil), ExitCode: code, Error: errorText(err), ErrorKind: kindOfCode(code)}
}

// End sets the end of the command, which may differ from the end of its work on the job.
func (r *Object) End(err error, code int) {
	r.Status, r.ExitCode = statusOf(code, r.Result), code
	r.Error, r.ErrorKind = errorText(err), ""
	if Stopped(code) {
		r.Error = "stopped by a signal: " + r.Error
	}
	if r.Error != "" {
		r.ErrorKind = kindOfCode(code)
	}
}

// Describe creates the outcome's object. version is the version of the program. table is the job's table if it is not
// known otherwise; if it is empty, the flag names the table.
func (o *Outcome) Describe(cmd *cobra.Command, version, table string) {
	o.Object = o.object(cmd, table)
	o.Object.Schema, o.Object.Command, o.Object.Version, o.Object.PID = 1, CommandName(cmd), version, os.Getpid()
	o.Object.Host, _ = os.Hostname()
	o.Object.End(o.Err, o.Code)
}

func (o *Outcome) object(cmd *cobra.Command, table string) *Object {
	p := o.Progress
	r := &Object{Began: o.Began.UTC(), Ended: o.Ended.UTC(), Seconds: seconds(o.Ended.Sub(o.Began)), Phases: []phase{}, Warnings: p.Warnings,
		Table: cmp.Or(p.Start.Table, table, settings.ValueOf(cmd, "table")), Job: p.Start.Job, JobID: cmp.Or(p.Start.JobID, settings.ValueOf(cmd, "job-id")), Attempt: p.Start.Attempt}
	for _, s := range p.Sums() {
		r.Phases = append(r.Phases, phase{s.Name, seconds(s.Ended.Sub(s.Began)), s.Done.Rows, s.Done.Bytes, s.Done.Files})
	}
	if p.Start.Parts == 0 { // the directories of a split run are each read in their own way
		r.Reading = p.Start.Reading
	}
	amounts := o.Result.Amounts(p)
	r.Rejected, r.Filtered = amounts.Rejected, amounts.Filtered
	if o.Result == nil {
		return r
	}
	r.Result = o.Result.Summary()
	r.Elapsed = cmp.Or(r.Elapsed, o.Ended.Sub(o.Began))
	r.Table, r.Job, r.Attempt = cmp.Or(r.Result.Table, r.Table), cmp.Or(r.Result.Job, r.Job), cmp.Or(r.Result.Attempt, r.Attempt)
	if abs, err := filepath.Abs(r.Job); err == nil && r.Job != "" {
		r.Job = abs // the reader may run in another directory
	}
	m := r.Result.Manifest
	if m == nil {
		return r
	}
	if cmd.Name() == "build" {
		r.Manifest = m
	}
	if all := r.Seconds; all > 0 && len(r.Phases) > 0 && o.Err == nil && !r.Result.Already {
		rows, input, written := m.Digest.Rows, p.Start.Bytes, m.Bytes
		if len(r.Result.Parts) > 0 {
			rows, input, written = r.Result.Parts.Done()
		}
		r.Rates = &rates{float64(rows) / all, float64(input) / all, float64(written) / all}
	}
	return r
}

// seconds returns a duration in seconds, rounded to milliseconds.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}

// CommandName returns a command's path without the program's name.
func CommandName(cmd *cobra.Command) string {
	if cmd == nil {
		return ""
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// maxError is the length limit of an error in a result, in bytes.
const maxError = 4000

// errorText returns the message of an error that is a failure.
func errorText(err error) string {
	if err == nil || errors.Is(err, ErrAlready) {
		return ""
	}
	return Bounded(err.Error())
}

// Bounded returns an error's message, cut to the length limit of a result.
func Bounded(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= maxError {
		return text
	}
	end := maxError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " …"
}
