package hbaserpc

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

// TestTakeLog checks that gohbase's lines are logged once each at the debug level, and not at all above it.
func TestTakeLog(t *testing.T) {
	t.Cleanup(func() { TakeLog(slog.New(slog.DiscardHandler)) })
	var b strings.Builder
	plain := func(level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	}
	say := func() {
		logrus.WithFields(logrus.Fields{"key": "row", "err": errors.New("lost"), "client": &struct{ n int }{1}}).Error("failed looking up region")
		logrus.Debug("looking up region")
	}
	TakeLog(plain(slog.LevelDebug))
	TakeLog(plain(slog.LevelDebug)) // by another cluster of the process
	say()
	const want = `level=DEBUG msg="failed looking up region" component=gohbase severity=error client="*struct { n int }" error=lost key=row
level=DEBUG msg="looking up region" component=gohbase
`
	if b.String() != want {
		t.Errorf("\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	TakeLog(plain(slog.LevelInfo))
	say()
	if b.Len() > 0 {
		t.Error(b.String())
	}
}
