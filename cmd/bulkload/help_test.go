package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"

	"github.com/spf13/cobra"
)

// helpOf returns the program's output for arguments.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	root := newRootCmd(&globals{})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(args, err)
	}
	return out.String()
}

// leaves returns the runnable commands below a command.
func leaves(c *cobra.Command) (all []*cobra.Command) {
	for _, c := range c.Commands() {
		switch {
		case c.HasAvailableSubCommands():
			all = append(all, leaves(c)...)
		case c.IsAvailableCommand() && c.Name() != "help":
			all = append(all, c)
		}
	}
	return all
}

// TestHelpFitsAScreen checks that --help of a command has at most 50 lines, that help has all of its flags, and that
// neither lists exit codes.
func TestHelpFitsAScreen(t *testing.T) {
	all := leaves(newRootCmd(&globals{}))
	if len(all) < 25 {
		t.Fatalf("%d commands", len(all))
	}
	for _, c := range all {
		words := strings.Fields(ending.CommandName(c))
		short := helpOf(t, append(words, "--help")...)
		if n := strings.Count(short, "\n"); n > 50 {
			t.Errorf("%s --help has %d lines", c.CommandPath(), n)
		}
		whole := helpOf(t, append([]string{"help"}, words...)...)
		for _, g := range settings.Grouped(c.NonInheritedFlags()) {
			for line := range strings.Lines(g.Flags.FlagUsages()) {
				if name := strings.Fields(line)[0]; !strings.Contains(whole, name) {
					t.Errorf("help %s lacks %s", ending.CommandName(c), name)
				}
			}
		}
		for _, text := range []string{short, whole} {
			if strings.Contains(text, "Exit status") || !strings.Contains(text, "bulkload help exit-codes") {
				t.Errorf("%s: exit codes are listed, or their page is not named", c.CommandPath())
			}
		}
	}
}

// TestHelpOfExitCodes checks that each code is listed with an instruction.
func TestHelpOfExitCodes(t *testing.T) {
	text := helpOf(t, "help", "exit-codes")
	for _, s := range ending.Exits() {
		if !strings.Contains(text, fmt.Sprintf("\n  %-4d %s: %s\n", s.Code, s.Meaning, s.Next)) {
			t.Errorf("%d is not listed:\n%s", s.Code, text)
		}
	}
	root := newRootCmd(&globals{})
	root.SetArgs([]string{"help", "nope"})
	if err := root.Execute(); err == nil || ending.CodeOf(t.Context(), err) != 2 {
		t.Errorf("a command that does not exist: %v", err)
	}
}
