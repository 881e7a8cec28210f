package session

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"

	"github.com/spf13/cobra"
)

// testCommand runs a program with one command.
func testCommand(p *Program, run func(*cobra.Command)) *cobra.Command {
	root := &cobra.Command{Use: "bulkload", PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.Prepare(cmd) }}
	p.Add(root.PersistentFlags())
	settings.AddFlags(root.PersistentFlags())
	cmd := &cobra.Command{Use: "run", Run: func(cmd *cobra.Command, _ []string) { run(cmd) }}
	settings.AddFields(cmd.Flags(), spec.OfTable, spec.OfRecords)
	settings.Bind(cmd.Flags(), settings.To{"restart": new(bool), "job-id": new(string)})
	(&Watch{}).Add(cmd.Flags())
	root.AddCommand(cmd)
	return root
}

// TestRecorded checks that a command is recorded with its settings and the day of its inputs and of any other text, without
// credentials, and that one that must be started manually has a reason.
func TestRecorded(t *testing.T) {
	t.Setenv("BULKLOAD_STATE", "/state")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("HADOOP_CONF_DIR", "/conf")
	silent, err := os.Open(os.DevNull)
	testcheck.Must(t, err)
	defer silent.Close()
	record := func(inputs []string, args ...string) *Session {
		p := &Program{Args: args, Console: &ui.Console{File: silent}}
		s := &Session{program: p, about: lineage.Subject{Spec: spec.Spec{Inputs: inputs}}}
		root := testCommand(p, func(cmd *cobra.Command) { s.cmd = cmd })
		root.SetArgs(args)
		testcheck.Must(t, root.ExecuteContext(t.Context()))
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
	for _, dated := range [][]string{{"--job-id", `{{ .Date "20060102" }}`}, {"--table", `t_{{ .Date "200601" }}`}, {"--filter", "day = '{{ .Date }}'"}} {
		args := append([]string{"run", "--input", "in", "--date", "2026-11-20T00:00:00"}, dated...)
		if c := record([]string{"in"}, args...).recorded(); c.Args[len(c.Args)-1] != "--date=2026-11-20" {
			t.Errorf("%s: the day is not recorded: %q", dated, c.Args)
		}
	}
	for dash, args := range map[int][]string{
		5: {"run", "--date", "2026-11-20", "--job-id", "{{ .Date }}", "--", "in", "--"},
		7: {"run", "--date", "2026-11-20", "--job-id", "{{ .Date }}", "--table", "--", "--"},
	} {
		if c := record([]string{"in"}, args...).recorded(); !slices.Equal(c.Args, slices.Insert(slices.Clone(args), dash, "--date=2026-11-20")) {
			t.Errorf("%q: the day is behind the end of the flags: %q", args, c.Args)
		}
	}
	if c := record([]string{"-"}, "run", "--table", "t").recorded(); c.Unfit != "reads a stream" || len(c.Args) != 3 {
		t.Errorf("%+v", c)
	}
	if c := record(nil, "run", "--table", "t", "--restart").recorded(); !strings.HasPrefix(c.Unfit, "has --restart") {
		t.Errorf("%+v", c)
	}
}

// TestLogTail checks that the tail has the last lines from level info on, whatever the terminal shows, with settings
// as flags, cut to its limits.
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
