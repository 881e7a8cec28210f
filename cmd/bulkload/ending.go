package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bulkload/internal/durable"
	"bulkload/pkg/result"

	"github.com/spf13/cobra"
)

// ending is what the last line of standard output is made of when a command has ended.
type ending struct {
	session *session // of a command that works on a job
	held    []byte   // the result of another, without its line's end
	holder  io.Writer
}

// hold keeps a line of JSON: should the command fail, it says so in it. One that was held before is written.
func (e *ending) hold(w io.Writer, line []byte) error {
	err := e.release()
	e.held, e.holder = line, w
	return err
}

func (e *ending) release() error {
	if e.held == nil {
		return nil
	}
	line := append(e.held, '\n')
	e.held = nil
	_, err := e.holder.Write(line)
	return err
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
			told = fmt.Errorf("--result-file: %w", e)
		}
	}
	if object {
		if _, e := w.Write(line); e != nil {
			told = errors.Join(told, fmt.Errorf("write the result: %w", e))
		}
	}
	return told
}

// tellFailure puts the failure into the object that the command has printed, or else prints one.
func (g *globals) tellFailure(w io.Writer, cmd *cobra.Command, err error, code int) error {
	f := failure{Schema: 1, Command: commandName(cmd), Status: statusOf(code, nil), ExitCode: code, Error: errorText(err), ErrorKind: kindOfCode(code)}
	line, e := json.Marshal(f)
	if e != nil {
		return e
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(g.held, &has) != nil {
		before := g.release()
		_, e := w.Write(append(line, '\n'))
		return errors.Join(before, e)
	}
	var adds map[string]json.RawMessage
	if e := json.Unmarshal(line, &adds); e != nil {
		return e
	}
	b := bytes.TrimSuffix(bytes.TrimSpace(g.held), []byte("}"))
	for _, name := range []string{"command", "status", "exit_code", "error", "error_kind"} {
		if _, there := has[name]; !there && adds[name] != nil {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "%q:%s", name, adds[name])
		}
	}
	g.held = append(b, '}')
	return g.release()
}

// asksJSON says whether arguments ask for JSON that were not understood, or not looked at yet, when the command failed.
func asksJSON(args []string) bool {
	asked := false
	for i, a := range args {
		switch value, ok := strings.CutPrefix(a, "--output="); {
		case a == "--":
			return asked
		case ok:
			asked = value == "json"
		case a == "--output" && i+1 < len(args):
			asked = args[i+1] == "json"
		}
	}
	return asked
}

// resultFile is what --result-file names, and whether the command is one that has it: run, build and load.
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
	case code == exitBusy:
		return "busy"
	case code > exitSignal:
		return "stopped"
	}
	return "failed"
}

// errorKinds name what exit codes stand for.
var errorKinds = map[int]string{
	exitUnexpected: "unexpected", exitUsage: "config", exitCheck: "check", exitBadRows: "bad_rows", exitInput: "input",
	exitHDFS: "hdfs", exitLoad: "load", exitVerify: "verify", exitBusy: "busy",
}

func kindOfCode(code int) string {
	if code > exitSignal {
		return "stopped"
	}
	return errorKinds[code]
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
