package session

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
)

// TestJobAttrs checks that log lines have the known attributes of the job, once each.
func TestJobAttrs(t *testing.T) {
	var b strings.Builder
	log := (&logFlags{level: "debug", format: "auto"}).newLogger(&b, true)
	about := jobAttrsOf(log).events()
	log.Info("none")
	about.OnStart(progress.Start{Job: "/state/check-0123", JobID: "night", Table: "ns:check", Attempt: 2})
	log.Info("begun")
	about.OnPhase("write")
	log.With("component", "gohbase").Debug("other", "phase", "own", "n", 1)
	about.OnStart(progress.Start{JobID: "night"})
	log.Warn("id only")
	const want = `level=INFO msg=none
level=INFO msg=begun job=check-0123 table=ns:check attempt=2
level=DEBUG msg=other component=gohbase job=check-0123 table=ns:check attempt=2 phase=own n=1
level=WARN msg="id only" job=night phase=write
`
	if b.String() != want {
		t.Errorf("\n%swant\n%s", b.String(), want)
	}
	if jobAttrsOf(slog.New(slog.DiscardHandler)) == nil {
		t.Error("another's logger has no attributes to forget")
	}
}

// TestLogEvents checks that lines of a command without a session have the job's attributes too.
func TestLogEvents(t *testing.T) {
	var b strings.Builder
	e := LogEvents((&logFlags{level: "info", format: "auto"}).newLogger(&b, true))
	e.Start(progress.Start{Job: "/state/compared-0123", Table: "ns:check", Attempt: 1})
	e.Phase("compare")
	e.Warn("slow", "n", 1)
	const want = `level=INFO msg="phase begins" job=compared-0123 table=ns:check attempt=1 phase=compare
level=WARN msg=slow job=compared-0123 table=ns:check attempt=1 phase=compare n=1
`
	if b.String() != want {
		t.Errorf("\n%swant\n%s", b.String(), want)
	}
}

// TestJournal checks that the time is left out only where systemd's journal reads the log.
func TestJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	this := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	other := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+1)
	for stream, want := range map[string]bool{this: true, other: false, "": false, "x": false, "1": false} {
		if got := inJournal(f, stream); got != want {
			t.Errorf("JOURNAL_STREAM=%q: %v", stream, got)
		}
	}
	for _, c := range []struct {
		format  string
		untimed bool
		time    bool
	}{{"auto", true, false}, {"auto", false, true}, {"text", true, true}, {"json", true, true}} {
		var b strings.Builder
		(&logFlags{level: "info", format: c.format}).newLogger(&b, c.untimed).Info("x")
		if got := strings.Contains(b.String(), "time"); got != c.time {
			t.Errorf("%+v: %s", c, b.String())
		}
	}
}

// TestWarningsOfTheLog checks that a result and a session's observers have each warning of the log once: those of a job, those from before and after it,
// and those of a command that ends before it has a session, also where the log shows errors only.
func TestWarningsOfTheLog(t *testing.T) {
	p := &Program{Log: (&logFlags{level: "error", format: "auto"}).newLogger(io.Discard, true)}
	cmd, _, err := testCommand(p, nil).Find([]string{"run"})
	testcheck.Must(t, err)
	cmd.SetContext(t.Context())
	warnings := func() int { return p.object(cmd, nil, 0).Warnings }
	p.Log.Warn("before", "a", 1)
	p.Log.Info("no warning")
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings without a session", n)
	}
	s, err := p.Begin(cmd, p.Log, lineage.Subject{}, &Watch{resultOnly: true, progress: "off"})
	testcheck.Must(t, err)
	o := &outcomes{}
	s.observers = append(s.observers, o)
	s.Events().Warn("of the job", "b", 2)
	p.Log.With("host", "x").Warn("of a client", "c", 3)
	testcheck.Must(t, s.End(nil, nil))
	if want := []string{"of the job b=2", "of a client c=3"}; !slices.Equal(o.warned, want) || o.last.Object.Warnings != 3 {
		t.Errorf("%q, %d in the result", o.warned, o.last.Object.Warnings)
	}
	p.Log.Warn("after")
	if n := warnings(); n != 4 {
		t.Errorf("%d warnings after the end", n)
	}
}
