package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"

	"github.com/spf13/cobra"
)

// TestRecorded: a command is recorded with its settings and the day of its inputs, without credentials; one that a person has to start says why.
func TestRecorded(t *testing.T) {
	t.Setenv("BULKLOAD_STATE", "/state")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("HADOOP_CONF_DIR", "/conf")
	silent, err := os.Open(os.DevNull)
	testcheck.Must(t, err)
	defer silent.Close()
	record := func(inputs []string, args ...string) *session {
		g := &globals{program: program{args: args, console: &ui.Console{File: silent}}}
		root := newRootCmd(g)
		root.SetArgs(args)
		root.SetErr(io.Discard)
		s := &session{program: &g.program, about: lineage.Subject{Spec: spec.Spec{Inputs: inputs}}}
		for _, c := range root.Commands() {
			if c.Name() == "run" {
				c.RunE = func(cmd *cobra.Command, _ []string) error { s.cmd = cmd; return nil }
			}
		}
		testcheck.Must(t, root.ExecuteContext(context.Background()))
		return s
	}
	args := []string{"run", "--table", "t", "--key", "id", "--columns", "id", "--input", `/in/{{ .Date "20060102" }}`, "--date", "2026-11-20"}
	c := record([]string{"/in/20261120"}, args...).recorded()
	dir, err := os.Getwd()
	testcheck.Must(t, err)
	if !slices.Equal(c.Args, append(slices.Clone(args), "--date=2026-11-20")) || c.Dir != dir || c.UID != os.Getuid() || c.Host == "" || c.Unfit != "" {
		t.Errorf("%+v", c)
	}
	if c.Env["BULKLOAD_STATE"] != "/state" || c.Env["HADOOP_CONF_DIR"] != "/conf" || strings.Contains(fmt.Sprint(c.Env), "secret") {
		t.Errorf("%+v", c.Env)
	}
	if c := record([]string{"-"}, "run", "--table", "t").recorded(); c.Unfit != "reads a stream" || len(c.Args) != 3 {
		t.Errorf("%+v", c)
	}
	if c := record(nil, "run", "--table", "t", "--restart").recorded(); !strings.HasPrefix(c.Unfit, "has --restart") {
		t.Errorf("%+v", c)
	}
}

// TestLogTail has the last lines from level info on, whatever the terminal shows, with settings as flags, and cut to its bounds.
func TestLogTail(t *testing.T) {
	var shown strings.Builder
	log := (&logFlags{level: "error", format: "json"}).newLogger(&shown, false)
	for i := range tailLines + 3 {
		log.With("n", i).WithGroup("g").Info("line", "x", strings.Repeat("é", tailLine))
	}
	log.Debug("rows are in debug lines only")
	lines := jobAttrsOf(log).tail.last()
	if len(lines) != tailLines || !strings.Contains(lines[0], "n=3") || strings.Contains(lines[tailLines-1], "debug") || shown.Len() > 0 {
		t.Errorf("%d lines, the first %s; shown are %s", len(lines), lines[0], shown.String())
	}
	if len(lines[0]) > tailLine || strings.ToValidUTF8(lines[0], "") != lines[0] {
		t.Errorf("a line has %d bytes", len(lines[0]))
	}
	if !log.Enabled(t.Context(), slog.LevelInfo) || log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("levels are others")
	}
}
