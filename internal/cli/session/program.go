package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is the output of every command: its log, its results, and its exit code.
type Program struct {
	Console  *ui.Console // never nil where something is printed
	Args     []string    // of the program
	Build    metrics.Build
	Log      *slog.Logger // nil: see Logger
	ShowData bool         // errors include the data that they are about
	output   string
	logs     logFlags
	session  *Session // session of a command that works on a job
	held     any      // result of any other command
	holder   io.Writer
	prepared bool   // the settings are known
	place    string // the file of --result-file, once it may be written
	written  []byte // its contents
}

// Add registers the flags.
func (p *Program) Add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"output": &p.output, "show-data": &p.ShowData})
	p.logs.add(f)
}

// Prepare sets a command's flags from all sources, and opens the log.
func (p *Program) Prepare(cmd *cobra.Command) error {
	p.logs.cmd = cmd
	if err := settings.Command(cmd, func() *slog.Logger {
		p.logs.calmBy(cmd, p.Console)
		return p.Logger()
	}); err != nil {
		return fail.Usage(err)
	}
	if err := p.logs.check(); err != nil {
		return err
	}
	return p.beginResult(cmd)
}

// Context returns the context of the command that Prepare is for.
func (p *Program) Context() context.Context {
	if p.logs.cmd == nil {
		return context.Background()
	}
	return p.logs.cmd.Context()
}

// Logger returns the log, which goes to standard error; standard output is for results.
func (p *Program) Logger() *slog.Logger {
	if p.Log == nil {
		p.Log = p.logs.newLogger(p.Console, inJournal(p.Console.File, os.Getenv("JOURNAL_STREAM")))
		if p.logs.format == "json" {
			p.Console.SpeakBy(p.Log)
		}
	}
	return p.Log
}

// JSON reports whether results are printed as JSON.
func (p *Program) JSON() bool { return p.output == "json" }

// ForPeople reports whether results are printed as text. With --quiet they are not.
func (p *Program) ForPeople() bool { return !p.JSON() && !p.logs.quiet }

// Print writes a result as text, or as one line of JSON. The JSON is held until the command ends, so that a failure can be added to
// it. Print first writes a result that was held before.
func (p *Program) Print(w io.Writer, v any, text func(io.Writer)) error {
	if !p.JSON() {
		text(ui.Plain(w))
		return nil
	}
	err := p.release()
	p.held, p.holder = v, w
	return err
}

// release writes the held result as one line of JSON.
func (p *Program) release() error {
	v := p.held
	if v == nil {
		return nil
	}
	p.held = nil
	return json.NewEncoder(p.holder).Encode(v)
}

// End reports the end of a command and returns the exit code; cmd is nil if no command was found.
func (p *Program) End(ctx context.Context, w io.Writer, cmd *cobra.Command, err error) int {
	err = p.showing(err)
	code := 0
	if err != nil {
		code = p.codeOf(ctx, err)
	}
	switch {
	case err == nil:
	case ending.Stopped(code):
		p.Console.Say(slog.LevelError, "stopped by a signal", fmt.Sprintf("stopped by %v", context.Cause(ctx)))
		for _, e := range ending.NotStop(err) {
			p.Console.Say(slog.LevelError, "an error after the stop", bounded("after the stop: "+settings.SpokenError(cmd, p.showing(e)).Error(), maxErrorText))
		}
	case !errors.Is(err, ending.ErrAlready):
		p.Console.Say(slog.LevelError, "the command ended with an error", bounded(err.Error(), maxErrorText))
	}
	if told := p.writeResult(w, cmd, err, code); told != nil {
		p.Console.Say(slog.LevelError, "failed to write the result", told.Error())
		if unwritten(err) {
			code = p.codeOf(context.Background(), told)
		}
	}
	return code
}

// unwritten reports whether a command that ended with err fails if its result cannot be written: another error of its own comes first.
func unwritten(err error) bool { return err == nil || errors.Is(err, ending.ErrAlready) }

// codeOf returns the exit code of an error. A disk that is full for the output of a job that is done has that of an unexpected failure: the same
// command would not resume.
func (p *Program) codeOf(ctx context.Context, err error) int {
	if s := p.session; s != nil && s.outcome != nil && s.outcome.Err == nil && fail.DiskFull(err) {
		return fail.Unexpected.ExitCode()
	}
	return ending.CodeOf(ctx, err)
}

// writeResult writes the last line of JSON output, and the file that --result-file names unless it has that line already. It is called once, with
// the command's final error.
func (p *Program) writeResult(w io.Writer, cmd *cobra.Command, err error, code int) error {
	object := p.JSON() || wantsJSON(p.Args)
	file, jobs := p.resultFile(cmd)
	var told error
	switch {
	case jobs && (err != nil || p.session != nil):
	case err != nil && object:
		return p.writeFailure(w, cmd, err, code)
	default:
		told = p.release()
		if object = false; file == "" || !p.prepared { // else a command without a job, such as run --drop-old
			return told
		}
	}
	line, e := lineOf(p.object(cmd, err, code))
	if e != nil {
		return e
	}
	if file != "" {
		if e := p.replaceResult(file, line); e != nil {
			told = errors.Join(told, settings.AboutFlags(fmt.Errorf("--result-file: %w", e), "result-file"))
			if unwritten(err) {
				if line, e = lineOf(p.object(cmd, told, p.codeOf(context.Background(), told))); e != nil {
					return e
				}
			}
		}
	}
	if object {
		if _, e := w.Write(line); e != nil {
			told = errors.Join(told, fmt.Errorf("write the result: %w", e))
		}
	}
	return told
}

func lineOf(o *ending.Object) ([]byte, error) {
	b, err := json.Marshal(o)
	return append(b, '\n'), err
}

// replaceResult writes the file of --result-file, unless it has this line.
func (p *Program) replaceResult(file string, line []byte) error {
	if bytes.Equal(p.written, line) {
		return nil
	}
	err := durable.Replace(file, line)
	if err == nil {
		p.written = line
	}
	return err
}

// object returns the outcome of a command that works on a job, even if the command failed before it had a session.
func (p *Program) object(cmd *cobra.Command, err error, code int) *ending.Object {
	now := time.Now()
	o := &ending.Outcome{Began: now, Ended: now}
	table := ""
	if s := p.session; s != nil {
		o.Began, table = s.began, s.about.Spec.Table
		if s.outcome != nil {
			o = s.outcome
		}
	}
	if o.Object == nil { // it failed before any work: a flag was wrong
		o.Describe(cmd, p.Build.Version, table)
	}
	if s := p.session; s != nil {
		o.Object.Warnings = s.tracker.Progress().Warnings
	} else {
		o.Object.Warnings = jobAttrsOf(p.Logger()).before()
	}
	o.Object.End(err, code)
	return o.Object
}

// writeFailure adds the failure to the object that the command has made, or writes a new object. Fields that the object
// already has are kept.
func (p *Program) writeFailure(w io.Writer, cmd *cobra.Command, err error, code int) error {
	f := ending.NewFailure(cmd, err, code)
	fields, e := fieldsOf(p.held)
	if e != nil || p.held == nil { // not an object: a list or a text
		return errors.Join(p.release(), json.NewEncoder(w).Encode(f))
	}
	own, e := fieldsOf(f)
	if e != nil {
		return e
	}
	delete(own, "schema") // the object has its own
	maps.Copy(own, fields)
	p.held, p.holder = own, w
	return p.release()
}

func fieldsOf(v any) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(b, &fields)
}
