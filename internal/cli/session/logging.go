package session

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type logFlags struct {
	level  string
	format string
	quiet  bool
	calm   bool // a live view replaces the log: only warnings and errors are logged, unless a level is given

	cmd *cobra.Command
}

func (l *logFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"log-level": &l.level, "log-format": &l.format, "quiet": &l.quiet})
}

func (l *logFlags) check() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--log-level %q is invalid: want debug, info, warn or error", l.level), "log-level"))
	}
	return nil
}

// newLogger returns the logger that the flags select, which writes to w. untimed omits the time from text lines.
func (l *logFlags) newLogger(w io.Writer, untimed bool) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		level = slog.LevelInfo
	}
	if l.calm {
		level = slog.LevelWarn
	}
	if l.quiet {
		level = slog.LevelError
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if untimed && l.format == "auto" && len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return l.spokenAttr(a)
	}}
	if l.format == "json" {
		return slog.New(newJobHandler(slog.NewJSONHandler(w, o), l.spokenAttr))
	}
	return slog.New(newJobHandler(slog.NewTextHandler(w, o), l.spokenAttr))
}

// calmBy reduces the log to warnings and errors if the command shows a live view, the log is text for a terminal, and no level is
// given.
func (l *logFlags) calmBy(cmd *cobra.Command, console *ui.Console) {
	mode, level := settings.ValueOf(cmd, "progress"), cmd.Flags().Lookup("log-level")
	l.calm = level != nil && !level.Changed && l.format != "json" && (mode == "auto" || mode == "live") && ui.CanDraw(console.File)
}

// spokenAttr returns the attribute with settings named as flags of the command in errors and texts.
func (l *logFlags) spokenAttr(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindAny {
		a.Value = slog.AnyValue(settings.SpokenValue(l.cmd, a.Value.Any()))
	}
	return a
}

// inJournal reports whether a file is connected to systemd's journal, according to JOURNAL_STREAM; see
// systemd.exec(5).
func inJournal(f *os.File, stream string) bool {
	var device, inode uint64
	if _, err := fmt.Sscanf(stream, "%d:%d", &device, &inode); err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(stat.Dev) == device && stat.Ino == inode
}

// phaseLog logs a summary of each phase when the phase has ended.
type phaseLog struct {
	log     *slog.Logger
	tracker *progress.Tracker
	logged  int // number of logged phases
	part    int // the part that they belong to
}

// events returns the callbacks, which must come after those of the tracker. Phases begin one after another, so there
// is not a lock.
func (p *phaseLog) events() progress.Events {
	return progress.Events{OnPhase: func(string) { p.logPhases() }}
}

// logPhases logs the phases that have ended since the last call.
func (p *phaseLog) logPhases() {
	now := p.tracker.Progress()
	if now.Start.Part != p.part { // phases of the same name in earlier parts are combined
		p.part, p.logged = now.Start.Part, 0
		for p.logged < len(now.Phases) && now.Start.Part > 1 && !now.Phases[p.logged].Ended.IsZero() {
			p.logged++
		}
	}
	for ; p.logged < len(now.Phases) && !now.Phases[p.logged].Ended.IsZero(); p.logged++ {
		phase := now.Phases[p.logged]
		args := []any{"phase", phase.Name, "took", phase.Ended.Sub(phase.Began).Round(time.Millisecond)}
		for _, n := range []struct {
			key   string
			value int64
		}{{"rows", phase.Done.Rows}, {"bytes", phase.Done.Bytes}, {"files", phase.Done.Files}} {
			if n.value > 0 {
				args = append(args, n.key, n.value)
			}
		}
		if phase.Name == "write" {
			args = append(args, "files", now.HFiles.Files)
		}
		p.log.Info("phase ended", args...)
	}
}

// LogEvents returns callbacks that log a job's progress, with the job's attributes in every line.
func LogEvents(log *slog.Logger) progress.Events {
	return progress.Tee(jobAttrsOf(log).events(), progress.Events{
		OnPhase: func(name string) { log.Info("phase begins", "phase", name) },
		OnSpill: func(rows, bytes int64) { log.Info("run spilled", "rows", rows, "bytes", bytes) },
		OnHFile: func(f progress.HFile) { log.Debug("hfile complete", "file", f.Name, "rows", f.Rows, "bytes", f.Bytes) },
		OnNote:  func(msg string, kv ...any) { log.Info(msg, kv...) },
		OnWarn:  func(msg string, kv ...any) { log.Warn(msg, kv...) },
	})
}
