package main

import (
	"log/slog"

	"bulkload/internal/model/progress"
)

// logEvents reports a job's progress in the log.
func logEvents(log *slog.Logger) progress.Events {
	return progress.Events{
		OnPhase: func(name string) { log.Info("phase begins", "phase", name) },
		OnSpill: func(rows, bytes int64) { log.Info("run spilled", "rows", rows, "bytes", bytes) },
		OnHFile: func(f progress.HFile) { log.Debug("hfile complete", "file", f.Name, "rows", f.Rows, "bytes", f.Bytes) },
		OnNote:  func(msg string, kv ...any) { log.Info(msg, kv...) },
		OnWarn:  func(msg string, kv ...any) { log.Warn(msg, kv...) },
	}
}
