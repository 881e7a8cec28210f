package session

import (
	"log/slog"
	"time"

	"bulkload/internal/model/progress"
)

// phaseLog logs what each phase came to, when it has ended.
type phaseLog struct {
	log     *slog.Logger
	tracker *progress.Tracker
	told    int // phases
	part    int // to which they belong
}

// events are to come after those of the tracker. Phases begin one after another, so there is no lock.
func (p *phaseLog) events() progress.Events {
	return progress.Events{OnPhase: func(string) { p.tell() }}
}

// tell reports those that have ended since it was last called.
func (p *phaseLog) tell() {
	now := p.tracker.Progress()
	if now.Start.Part != p.part { // the earlier parts' phases are one for each name
		p.part, p.told = now.Start.Part, 0
		for p.told < len(now.Phases) && now.Start.Part > 1 && !now.Phases[p.told].Ended.IsZero() {
			p.told++
		}
	}
	for ; p.told < len(now.Phases) && !now.Phases[p.told].Ended.IsZero(); p.told++ {
		phase := now.Phases[p.told]
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

// LogEvents reports a job's progress in the log.
func LogEvents(log *slog.Logger) progress.Events {
	return progress.Events{
		OnPhase: func(name string) { log.Info("phase begins", "phase", name) },
		OnSpill: func(rows, bytes int64) { log.Info("run spilled", "rows", rows, "bytes", bytes) },
		OnHFile: func(f progress.HFile) { log.Debug("hfile complete", "file", f.Name, "rows", f.Rows, "bytes", f.Bytes) },
		OnNote:  func(msg string, kv ...any) { log.Info(msg, kv...) },
		OnWarn:  func(msg string, kv ...any) { log.Warn(msg, kv...) },
	}
}
