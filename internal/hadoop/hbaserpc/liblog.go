package hbaserpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/sirupsen/logrus"
)

// TakeLog redirects the lines of logrus' standard logger to another log. All get the level debug: gohbase's lines contain row keys, and
// the outcome of a call is reported by an error, or by a warning of ours.
func TakeLog(log *slog.Logger) {
	logrus.SetOutput(io.Discard)
	hooks := logrus.LevelHooks{}
	if log.Enabled(context.Background(), slog.LevelDebug) {
		logrus.SetLevel(logrus.DebugLevel)
		hooks.Add(logrusHook{log.With("component", "gohbase")})
	}
	logrus.StandardLogger().ReplaceHooks(hooks)
}

// logrusHook writes the lines of a logrus logger to a log.
type logrusHook struct{ log *slog.Logger }

func (logrusHook) Levels() []logrus.Level { return logrus.AllLevels }

func (h logrusHook) Fire(e *logrus.Entry) error {
	attrs := make([]slog.Attr, 0, len(e.Data)+1)
	if e.Level <= logrus.WarnLevel {
		attrs = append(attrs, slog.String("severity", e.Level.String()))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Data)) {
		name := key
		if key == "err" {
			name = "error"
		}
		attrs = append(attrs, slog.String(name, logText(e.Data[key])))
	}
	h.log.LogAttrs(context.Background(), slog.LevelDebug, e.Message, attrs...)
	return nil
}

// logText formats a value of a log line. A value without a text form of its own may be in use by others, so only its type is printed.
func logText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string, []byte, bool, int, int32, int64, uint32, uint64, float64:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%T", v)
}
