package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"unicode/utf8"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ending is what the last line of standard output is made of when a command has ended.
type ending struct {
	session *session // of a command that works on a job
	held    any      // the result of another
	holder  io.Writer
}

// hold keeps a result: should the command fail, it says so in it. One that was held before is written.
func (e *ending) hold(w io.Writer, v any) error {
	err := e.release()
	e.held, e.holder = v, w
	return err
}

// release writes the result that is held, as one line of JSON.
func (e *ending) release() error {
	v := e.held
	if v == nil {
		return nil
	}
	e.held = nil
	return json.NewEncoder(e.holder).Encode(v)
}

// failure is what a command without a result of a job says when it failed.
type failure struct {
	Schema    int    `json:"schema"`
	Command   string `json:"command"`
	Status    string `json:"status"`
	ExitCode  int    `json:"exit_code"`
	Error     string `json:"error,omitempty"`
	ErrorKind string `json:"error_kind,omitempty"`
}

// tell writes the last line, if it is to be JSON, and the file that --result-file names. It is called once, with what the
// command ended with; cmd is nil if none was found.
func (g *globals) tell(w io.Writer, cmd *cobra.Command, args []string, err error, code int) error {
	object := g.json() || asksJSON(args)
	file, jobs := resultFile(cmd)
	if !jobs || err == nil && g.session == nil {
		if err == nil || !object {
			return g.release()
		}
		return g.tellFailure(w, cmd, err, code)
	}
	r := g.result(cmd, err, code)
	line, e := json.Marshal(r)
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

// tellFailure puts the failure into the object that the command has made, or else writes one. What the object says itself
// stays.
func (g *globals) tellFailure(w io.Writer, cmd *cobra.Command, err error, code int) error {
	f := failure{Schema: 1, Command: commandName(cmd), Status: statusOf(code, nil), ExitCode: code, Error: errorText(err), ErrorKind: kindOfCode(code)}
	fields, e := fieldsOf(g.held)
	if e != nil || g.held == nil { // not an object: a list, a text
		return errors.Join(g.release(), json.NewEncoder(w).Encode(f))
	}
	own, e := fieldsOf(f)
	if e != nil {
		return e
	}
	delete(own, "schema") // of the object
	maps.Copy(own, fields)
	g.held, g.holder = own, w
	return g.release()
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

// commandName is a command without the program's name.
func commandName(cmd *cobra.Command) string {
	if cmd == nil {
		return ""
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// statusOf says in a word how a command ended.
func statusOf(code int, r *result.Result) string {
	switch {
	case code == exitAlready, code == exitDone && r != nil && r.Already:
		return "already"
	case code == exitDone:
		return "done"
	case code == fail.Busy.ExitCode():
		return "busy"
	case code > exitSignal:
		return "stopped"
	}
	return "failed"
}

// stoppedWord is what results have in place of a kind when a signal stopped the command.
const stoppedWord = "stopped"

// kindOfCode is the word for what an exit code stands for, empty if that is not a failure.
func kindOfCode(code int) string {
	if code > exitSignal {
		return stoppedWord
	}
	if k, ok := fail.KindOfExit(code); ok {
		return k.String()
	}
	return ""
}

// mostError is how much of an error a result has, in bytes.
const mostError = 4000

// errorText is an error's message, shortened where it would be longer than a result may be.
func errorText(err error) string {
	if err == nil || errors.Is(err, errAlready) {
		return ""
	}
	text := strings.ToValidUTF8(err.Error(), string(utf8.RuneError))
	if len(text) <= mostError {
		return text
	}
	end := mostError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " …"
}
