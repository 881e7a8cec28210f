package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"
)

// outcomes records the end of a session.
type outcomes struct {
	warned []string
	last   ending.Outcome
}

func (o *outcomes) Events() progress.Events {
	return progress.Events{OnWarn: func(msg string, kv ...any) {
		for i := 1; i < len(kv); i += 2 {
			msg += fmt.Sprintf(" %v=%v", kv[i-1], settings.SpokenValue(nil, kv[i]))
		}
		o.warned = append(o.warned, msg)
	}}
}

func (o *outcomes) End(_ context.Context, end ending.Outcome) error { o.last = end; return nil }

// TestOperatorsReadFlags checks that errors and hints of a job name flags wherever a command shows, logs or stores
// them.
func TestOperatorsReadFlags(t *testing.T) {
	var logged strings.Builder
	p := &Program{}
	cmd, _, err := testCommand(p, nil).Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(t.Context())
	for _, format := range []string{"text", "json"} {
		logged.Reset()
		s, err := p.Begin(cmd, (&logFlags{level: "info", format: format}).newLogger(&logged, false), lineage.Subject{}, &Watch{resultOnly: true, progress: "off"})
		testcheck.Must(t, err)
		o := &outcomes{}
		s.observers = append(s.observers, o)
		failure := fail.Errorf(fail.Config, "no room (give more %s)", setting.Memory)
		check := preflight.Doubtful("spill", setting.Textf("give %s", setting.SpillDir), "%s allows less", setting.SpillLimit)
		s.Events().Warn("check", "warning", check.Message, "hint", check.Hint, "error", failure)
		if want := []string{"check warning=--spill-limit allows less hint=give --spill-dir error=no room (give more --memory)"}; !slices.Equal(o.warned, want) {
			t.Errorf("warned of %q, want %q", o.warned, want)
		}
		for _, want := range []string{"--spill-limit allows less", "give --spill-dir", "no room (give more --memory)"} {
			if !strings.Contains(logged.String(), want) {
				t.Errorf("%q is not in the %s log: %s", want, format, logged.String())
			}
		}
		err = s.End(&result.Result{Parts: []result.Part{{Error: failure.Error()}}}, errors.Join(failure))
		for what, got := range map[string]string{"error": err.Error(), "of observers": o.last.Err.Error(), "of the result": p.object(cmd, err, fail.Config.ExitCode()).Error,
			"of a part": o.last.Result.Parts[0].Error} {
			if got != "no room (give more --memory)" {
				t.Errorf("the error %s is %q", what, got)
			}
		}
		if ending.CodeOf(t.Context(), err) != fail.Config.ExitCode() {
			t.Errorf("exit code %d", ending.CodeOf(t.Context(), err))
		}
	}
}
