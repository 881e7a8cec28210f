package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// TestSettingsOfLibraries checks that every setting that a library names is a setting of a command, and is shown as
// its flag.
func TestSettingsOfLibraries(t *testing.T) {
	root := newRootCmd(&globals{})
	known := settings.Known(root)
	for _, n := range setting.Names() {
		if !slices.Contains(known, string(n)) && !settings.IsField(string(n)) {
			t.Errorf("no command has the setting %s, nor has a job file", n)
		}
		flag, ok := strings.CutPrefix(settings.Flag(n), "--")
		if !ok || !slices.ContainsFunc(commands(root), func(c *cobra.Command) bool { return c.Flags().Lookup(flag) != nil }) {
			t.Errorf("%s is said as %s, which no command has", n, settings.Flag(n))
		}
	}
}

// TestChecksReadFlags checks that checks, and errors in the state of a job, name flags.
func TestChecksReadFlags(t *testing.T) {
	check := preflight.Doubtful("spill", setting.Textf("give %s", setting.SpillDir), "%s allows less", setting.SpillLimit)
	spoken, err := json.Marshal(spokenChecks([]preflight.Check{check}))
	if err != nil || string(spoken) != `[{"name":"spill","severity":"warning","message":"--spill-limit allows less","hint":"give --spill-dir"}]` {
		t.Errorf("checks are %s, %v", spoken, err)
	}
	state := &checkpoint.State{Error: "x (`restart` loads it again)", Attempts: []checkpoint.Attempt{{Error: "give more `memory`"}}}
	speakState(state)
	if state.Error != "x (--restart loads it again)" || state.Attempts[0].Error != "give more --memory" {
		t.Errorf("%+v", state)
	}
}
