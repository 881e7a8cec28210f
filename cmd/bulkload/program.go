package main

import (
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
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// program is what every command says, and how: its log, its results, and how it ended.
type program struct {
	console  *ui.Console // never nil
	args     []string
	version  string
	showData bool // errors have the data that they are about
	output   string
	logs     logFlags
	log      *slog.Logger // see logger
	session  *session     // of a command that works on a job
	held     any          // the result of another
	holder   io.Writer
}

// add registers the flags.
func (p *program) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"output": &p.output, "show-data": &p.showData})
	p.logs.add(f)
}

// prepare has a command's flags take their values, and opens the lop.
func (p *program) prepare(cmd *cobra.Command) error {
	if err := settings.Command(cmd, func() *slog.Logger {
		p.logs.calmBy(cmd, p.console)
		return p.logger()
	}); err != nil {
		return fail.Usage(err)
	}
	return p.logs.check()
}

// logger writes to standard error; standard output is for results.
func (p *program) logger() *slog.Logger {
	if p.log == nil {
		p.log = p.logs.newLogger(p.console, inJournal(p.console.File, os.Getenv("JOURNAL_STREAM")))
		if p.logs.format == "json" {
			p.console.SpeakBy(p.log)
		}
	}
	return p.log
}

func (p *program) json() bool { return p.output == "json" }

// forPeople reports whether results are printed as people read them; with --quiet none is.
func (p *program) forPeople() bool { return !p.json() && !p.logs.quiet }

// print writes a result: as people read it, or as one line of JSON, which is kept until it is known how the command ended: should it
// fail, it says so in it. One that was kept before is written.
func (p *program) print(w io.Writer, v any, text func(io.Writer)) error {
	if !p.json() {
		text(w)
		return nil
	}
	err := p.release()
	p.held, p.holder = v, w
	return err
}

// release writes the result that is held, as one line of JSON.
func (p *program) release() error {
	v := p.held
	if v == nil {
		return nil
	}
	p.held = nil
	return json.NewEncoder(p.holder).Encode(v)
}

// end says how a command ended, and returns the exit code; cmd is nil if none was found.
func (p *program) end(ctx context.Context, w io.Writer, cmd *cobra.Command, err error) int {
	err = p.showing(err)
	code := 0
	if err != nil {
		code = ending.CodeOf(ctx, err)
	}
	switch {
	case err == nil:
	case ending.Stopped(code):
		p.console.Say(slog.LevelError, "stopped by a signal", fmt.Sprintf("stopped by %v", context.Cause(ctx)))
	case !errors.Is(err, ending.ErrAlready):
		p.console.Say(slog.LevelError, "the command ended with an error", bounded(err.Error(), mostErrorSaid))
	}
	if told := p.tell(w, cmd, err, code); told != nil {
		p.console.Say(slog.LevelError, "failed to write the result", told.Error())
		if code == 0 {
			code = ending.CodeOf(context.Background(), told)
		}
	}
	return code
}

// tell writes the last line, if it is to be JSON, and the file that --result-file names. It is called once, with what the
// command ended with.
func (p *program) tell(w io.Writer, cmd *cobra.Command, err error, code int) error {
	object := p.json() || asksJSON(p.args)
	file, jobs := resultFile(cmd)
	if !jobs || err == nil && p.session == nil {
		if err == nil || !object {
			return p.release()
		}
		return p.tellFailure(w, cmd, err, code)
	}
	line, e := json.Marshal(p.object(cmd, err, code))
	if e != nil {
		return e
	}
	line = append(line, '\n')
	var told error
	if file != "" {
		if e := durable.Replace(file, line); e != nil {
			told = settings.AboutFlags(fmt.Errorf("--result-file: %w", e), "result-file")
		}
	}
	if object {
		if _, e := w.Write(line); e != nil {
			told = errors.Join(told, fmt.Errorf("write the result: %w", e))
		}
	}
	return told
}

// object is how a command that works on a job ended, which may not have come as far as a session.
func (p *program) object(cmd *cobra.Command, err error, code int) *ending.Object {
	now := time.Now()
	o := &ending.Outcome{Began: now, Ended: now}
	table := ""
	if s := p.session; s != nil {
		o.Began, table = s.began, s.about.Spec.Table
		if s.outcome != nil {
			o = s.outcome
		}
	}
	if o.Object == nil { // before there was work: a flag was wrong
		o.Describe(cmd, p.version, table)
	}
	o.Object.End(err, code)
	return o.Object
}

// tellFailure puts the failure into the object that the command has made, or else writes one. What the object says itself
// stays.
func (p *program) tellFailure(w io.Writer, cmd *cobra.Command, err error, code int) error {
	f := ending.NewFailure(cmd, err, code)
	fields, e := fieldsOf(p.held)
	if e != nil || p.held == nil { // not an object: a list, a text
		return errors.Join(p.release(), json.NewEncoder(w).Encode(f))
	}
	own, e := fieldsOf(f)
	if e != nil {
		return e
	}
	delete(own, "schema") // of the object
	maps.Copy(own, fields)
	p.held, p.holder = own, w
	return p.release()
}

// fieldsOf are the fields of what is an object in JSON.
func fieldsOf(v any) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(b, &fields)
}

// asksJSON reports whether arguments ask for JSON that were not understood, or not looked at yet, when the command failed.
func asksJSON(args []string) bool {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.Usage = func() {} // that of the command is printed already
	output := f.String("output", "", "")
	_ = f.Parse(args) // what is wrong with them is reported already
	return *output == "json"
}

// resultFile is what --result-file names, and whether the command is one that has it: run, build, merge, load and rekey.
func resultFile(cmd *cobra.Command) (string, bool) {
	if cmd == nil {
		return "", false
	}
	f := cmd.Flags().Lookup("result-file")
	if f == nil {
		return "", false
	}
	return f.Value.String(), true
}
