package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// TestSettingsOfLibraries: every setting that a library names is one of a command, and an operator reads its flag.
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

// outcomes keeps the end of a session.
type outcomes struct {
	warned []string
	last   ending.Outcome
}

func (o *outcomes) Events() progress.Events {
	return progress.Events{OnWarn: func(msg string, kv ...any) {
		for i := 1; i < len(kv); i += 2 {
			msg += fmt.Sprintf(" %v=%v", kv[i-1], settings.SpokenValue(kv[i]))
		}
		o.warned = append(o.warned, msg)
	}}
}

func (o *outcomes) End(end ending.Outcome) error { o.last = end; return nil }

// TestOperatorsReadFlags: wherever a job's errors and hints are shown, logged or kept by a command, they name flags.
func TestOperatorsReadFlags(t *testing.T) {
	var logged strings.Builder
	g := &globals{}
	cmd, _, err := newRootCmd(g).Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(t.Context())
	for _, format := range []string{"text", "json"} {
		logged.Reset()
		s, err := g.begin(cmd, (&logFlags{level: "info", format: format}).newLogger(&logged, false), lineage.Subject{}, &watchFlags{resultOnly: true, progress: "off"})
		testcheck.Must(t, err)
		o := &outcomes{}
		s.observers = append(s.observers, o)
		failure := fail.Errorf(fail.Config, "no room (give more %s)", setting.Memory)
		check := preflight.Doubtful("spill", setting.Textf("give %s", setting.SpillDir), "%s allows less", setting.SpillLimit)
		s.events().Warn("check", "warning", check.Message, "hint", check.Hint, "error", failure)
		if want := []string{"check warning=--spill-limit allows less hint=give --spill-dir error=no room (give more --memory)"}; !slices.Equal(o.warned, want) {
			t.Errorf("warned of %q, want %q", o.warned, want)
		}
		for _, want := range []string{"--spill-limit allows less", "give --spill-dir", "no room (give more --memory)"} {
			if !strings.Contains(logged.String(), want) {
				t.Errorf("%q is not in the %s log: %s", want, format, logged.String())
			}
		}
		err = s.end(&result.Result{Parts: []result.Part{{Error: failure.Error()}}}, errors.Join(failure))
		for what, got := range map[string]string{"error": err.Error(), "of observers": o.last.Err.Error(), "of the result": g.object(cmd, err, fail.Config.ExitCode()).Error,
			"of a part": o.last.Result.Parts[0].Error} {
			if got != "no room (give more --memory)" {
				t.Errorf("the error %s is %q", what, got)
			}
		}
		if ending.CodeOf(t.Context(), err) != fail.Config.ExitCode() {
			t.Errorf("exit code %d", ending.CodeOf(t.Context(), err))
		}
		spoken, err := json.Marshal(spokenChecks([]preflight.Check{check}))
		if err != nil || string(spoken) != `[{"name":"spill","severity":"warning","message":"--spill-limit allows less","hint":"give --spill-dir"}]` {
			t.Errorf("checks are %s, %v", spoken, err)
		}
	}
	state := &checkpoint.State{Error: "x (`restart` loads it again)", Attempts: []checkpoint.Attempt{{Error: "give more `memory`"}}}
	speakState(state)
	if state.Error != "x (--restart loads it again)" || state.Attempts[0].Error != "give more --memory" {
		t.Errorf("%+v", state)
	}
}
