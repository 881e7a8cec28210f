package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/progress"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// logFlags say what the log is like.
type logFlags struct {
	level  string
	format string
	quiet  bool
	calm   bool // a live view shows what the log would: warnings and errors only, unless a level is given
}

func (l *logFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"log-level": &l.level, "log-format": &l.format, "quiet": &l.quiet})
}

func (l *logFlags) check() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return usageError{settings.AboutFlags(fmt.Errorf("--log-level %q is invalid: want debug, info, warn or error", l.level), "log-level")}
	}
	return nil
}

// newLogger makes a logger of what was asked for, whose lines go to w. untimed leaves the time out of text.
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
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return spokenAttr(a) }}
	if l.format == "json" {
		return slog.New(jobHandler{slog.NewJSONHandler(w, o), &jobAttrs{}})
	}
	if untimed && l.format == "auto" {
		o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return spokenAttr(a)
		}
	}
	return slog.New(jobHandler{slog.NewTextHandler(w, o), &jobAttrs{}})
}

// calmBy leaves the log's lines about what a job does to the live view, where the command has one, the log is text for a person, and
// no level is given.
func (l *logFlags) calmBy(cmd *cobra.Command, console *ui.Console) {
	progress, level := cmd.Flags().Lookup("progress"), cmd.Flags().Lookup("log-level")
	if progress == nil || level == nil {
		return
	}
	mode := progress.Value.String()
	l.calm = !level.Changed && l.format != "json" && (mode == "auto" || mode == "live") && ui.CanDraw(console.File)
}

// spokenAttr is an attribute in which errors and texts name settings as flags.
func spokenAttr(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindAny {
		a.Value = slog.AnyValue(settings.SpokenValue(a.Value.Any()))
	}
	return a
}

// inJournal reports whether systemd's journal reads the file, by what systemd.exec(5) says of JOURNAL_STREAM.
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

// jobAttrs are what every line says of the job: job, table, attempt and phase, as soon as they are known.
type jobAttrs struct {
	start atomic.Pointer[progress.Start]
	phase atomic.Pointer[string]
	attrs atomic.Pointer[[]slog.Attr]
}

// events are those by which it learns. They are to come before those that log.
func (a *jobAttrs) events() progress.Events {
	return progress.Events{
		OnStart: func(s progress.Start) { a.start.Store(&s); a.know() },
		OnPhase: func(name string) { a.phase.Store(&name); a.know() },
	}
}

// know is called when something has changed.
func (a *jobAttrs) know() {
	var attrs []slog.Attr
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if s := a.start.Load(); s != nil {
		name := s.JobID
		if s.Job != "" {
			name = filepath.Base(s.Job)
		}
		add("job", name)
		add("table", s.Table)
		if s.Attempt > 0 {
			attrs = append(attrs, slog.Int("attempt", s.Attempt))
		}
	}
	if p := a.phase.Load(); p != nil {
		add("phase", *p)
	}
	a.attrs.Store(&attrs)
}

// jobHandler puts them on every line, before the line's own.
type jobHandler struct {
	slog.Handler
	about *jobAttrs
}

func (h jobHandler) Handle(ctx context.Context, r slog.Record) error {
	known := h.about.attrs.Load()
	if known == nil || len(*known) == 0 {
		return h.Handler.Handle(ctx, r)
	}
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	for _, a := range *known {
		own := false
		r.Attrs(func(b slog.Attr) bool { own = own || a.Key == b.Key; return !own })
		if !own {
			line.AddAttrs(a)
		}
	}
	r.Attrs(func(a slog.Attr) bool { line.AddAttrs(a); return true })
	return h.Handler.Handle(ctx, line)
}

func (h jobHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return jobHandler{h.Handler.WithAttrs(attrs), h.about}
}

func (h jobHandler) WithGroup(name string) slog.Handler {
	return jobHandler{h.Handler.WithGroup(name), h.about}
}

// jobAttrsOf are those that a logger's lines have; another's logger has none.
func jobAttrsOf(log *slog.Logger) *jobAttrs {
	h, _ := log.Handler().(jobHandler)
	return cmp.Or(h.about, &jobAttrs{})
}
