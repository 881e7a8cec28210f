package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/testcheck"
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

// TestJobsNameFlagsOfTheirCommand checks that a package of one command's jobs names only settings that the command has as flags.
func TestJobsNameFlagsOfTheirCommand(t *testing.T) {
	named := regexp.MustCompile(`\bsetting\.([A-Z]\w*)\b[^(]`)
	var consts = map[string]string{} // name in the code -> value
	text, err := os.ReadFile("../../pkg/setting/name.go")
	testcheck.Must(t, err)
	for _, c := range regexp.MustCompile(`(?m)^\t(\w+) +Name = "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		consts[c[1]] = c[2]
	}
	for _, cmd := range commands(newRootCmd(&globals{})) {
		files, err := filepath.Glob("../../internal/jobs/" + cmd.Name() + "/*.go")
		testcheck.Must(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			testcheck.Must(t, err)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				flag := strings.TrimPrefix(settings.Flag(setting.Name(consts[m[1]])), "--")
				if consts[m[1]] != "" && cmd.Flags().Lookup(flag) == nil && cmd.InheritedFlags().Lookup(flag) == nil {
					t.Errorf("%s names --%s, which %s lacks", file, flag, cmd.Name())
				}
			}
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
	state := &status.State{Error: "x (`restart` loads it again)", Attempts: []history.Attempt{{Error: "give more `memory`"}}}
	speakState(state)
	if state.Error != "x (--restart loads it again)" || state.Attempts[0].Error != "give more --memory" {
		t.Errorf("%+v", state)
	}
}
