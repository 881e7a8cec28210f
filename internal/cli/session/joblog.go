package session

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"bulkload/internal/model/progress"
)

// jobAttrs are the attributes of every log line about the job: job, table, attempt and phase, as soon as they are
// known.
type jobAttrs struct {
	start atomic.Pointer[progress.Start]
	phase atomic.Pointer[string]
	attrs atomic.Pointer[[]slog.Attr]
	tail  logTail
	warnings
}

// warnings hands each warning of the log to a session. Those from before it are kept for it, up to a limit.
type warnings struct {
	mu    sync.Mutex
	early []slog.Record
	to    func(msg string, kv ...any) // nil before the session
}

const maxEarly = 100

func (w *warnings) add(r slog.Record) {
	w.mu.Lock()
	to := w.to
	if to == nil && len(w.early) < maxEarly {
		w.early = append(w.early, r.Clone())
	}
	w.mu.Unlock()
	if to != nil {
		var kv []any
		r.Attrs(func(a slog.Attr) bool { kv = append(kv, a.Key, a.Value.Any()); return true })
		to(r.Message, kv...)
	}
}

// handTo sets the session's function.
func (w *warnings) handTo(to func(msg string, kv ...any)) {
	w.mu.Lock()
	early := w.early
	w.to, w.early = to, nil
	w.mu.Unlock()
	for _, r := range early {
		w.add(r)
	}
}

// before returns the number of warnings that no session has got.
func (w *warnings) before() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.early)
}

// events returns the callbacks that update the attributes. They must come before the callbacks that log.
func (a *jobAttrs) events() progress.Events {
	return progress.Events{
		OnStart: func(s progress.Start) { a.start.Store(&s); a.know() },
		OnPhase: func(name string) { a.phase.Store(&name); a.know() },
	}
}

// know recomputes the attributes after a change.
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

// jobHandler adds the attributes to every line, before the line's own, and keeps the last lines.
type jobHandler struct {
	slog.Handler
	about *jobAttrs
	last  slog.Handler // writes to the tail
}

func newJobHandler(h slog.Handler, spoken func(slog.Attr) slog.Attr) jobHandler {
	about := &jobAttrs{}
	last := slog.NewTextHandler(&about.tail, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return spoken(a) }})
	return jobHandler{h, about, last}
}

// Enabled also accepts the levels of the tail: with a live view, the terminal shows fewer.
func (h jobHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, level) || h.last.Enabled(ctx, level)
}

func (h jobHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn {
		h.about.add(r)
	}
	if h.last.Enabled(ctx, r.Level) {
		_ = h.last.Handle(ctx, r.Clone()) // into memory
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
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
	return jobHandler{h.Handler.WithAttrs(attrs), h.about, h.last.WithAttrs(attrs)}
}

func (h jobHandler) WithGroup(name string) slog.Handler {
	return jobHandler{h.Handler.WithGroup(name), h.about, h.last.WithGroup(name)}
}

// jobAttrsOf returns the attributes of a logger. For a logger without a jobHandler they are empty.
func jobAttrsOf(log *slog.Logger) *jobAttrs {
	h, _ := log.Handler().(jobHandler)
	return cmp.Or(h.about, &jobAttrs{})
}

// Limits of a log's tail: lines, and bytes of one line.
const (
	tailLines = 40
	tailLine  = 400
)

// logTail keeps the last lines of a log, for status and the console. Rows and their keys are only in debug lines,
// which the tail does not keep.
type logTail struct {
	mu    sync.Mutex
	lines []string
}

func (t *logTail) Write(line []byte) (int, error) {
	text := strings.ToValidUTF8(strings.TrimRight(string(line[:min(len(line), tailLine)]), "\n"), "")
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, text)
	return len(line), nil
}

func (t *logTail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}
