package main

import (
	"strings"
	"testing"

	"bulkload/internal/cli/settings"

	"github.com/spf13/pflag"
)

// TestCompletions checks that the completions of a flag are the values in its help text.
func TestCompletions(t *testing.T) {
	root := newRootCmd(&globals{})
	for _, cmd := range append(commands(root), root) {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			values, files, _ := settings.Completion(f)
			if files || f.Value.Type() == "size" {
				return // file name endings; sizes are only suggestions
			}
			for _, v := range values {
				if !strings.Contains(f.Usage, v) && f.DefValue != v {
					t.Errorf("%s --%s: the help text %q lacks %s", cmd.CommandPath(), f.Name, f.Usage, v)
				}
			}
		})
	}
}
