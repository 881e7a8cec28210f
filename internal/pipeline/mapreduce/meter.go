package mapreduce

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/model/progress"
	"bulkload/pkg/setting"
)

// The counters of a job. They are for progress only: failed attempts and reduces without rows are not counted.
const (
	counterGroup   = "bulkload"
	counterRows    = "records_read"
	counterBytes   = "bytes_read"
	counterMerged  = "rows_merged"
	counterWritten = "bytes_written"
)

// reportEvery is the interval between an attempt's reports. An attempt without progress reports nothing, so that Hadoop's timeout ends it.
const reportEvery = 3 * time.Second

// meter reports a task's progress to its ApplicationMaster.
type meter struct {
	w     io.Writer
	phase atomic.Pointer[string]
	// rows, bytes, merged, written
	now      [4]atomic.Int64
	mu       sync.Mutex
	reported [4]int64
	lastText string
	stop     chan struct{}
	done     chan struct{}
}

func newMeter(w io.Writer) *meter {
	m := &meter{w: w, stop: make(chan struct{}), done: make(chan struct{})}
	m.setPhase("start")
	go m.run()
	return m
}

func (m *meter) setPhase(name string) { m.phase.Store(&name) }

// events returns the events that feed the meter.
func (m *meter) events() progress.Events {
	return progress.Events{
		OnPhase:   m.setPhase,
		OnRows:    func(rows, bytes int64) { m.now[0].Add(rows); m.now[1].Add(bytes) },
		OnSpill:   func(_, bytes int64) { m.now[3].Add(bytes) },
		OnMerged:  func(rows int64) { m.now[2].Add(rows) },
		OnWritten: func(bytes int64) { m.now[3].Add(bytes) },
		OnWarn:    func(msg string, kv ...any) { fmt.Fprintln(m.w, append([]any{"warning:", msg}, kv...)...) },
	}
}

func (m *meter) run() {
	defer close(m.done)
	t := time.NewTicker(reportEvery)
	defer t.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-t.C:
			m.report()
		}
	}
}

// report reports the changes since the last report. It ignores errors.
func (m *meter) report() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, name := range [...]string{counterRows, counterBytes, counterMerged, counterWritten} {
		if n := m.now[i].Load(); n != m.reported[i] {
			_ = streaming.Count(m.w, counterGroup, name, n-m.reported[i])
			m.reported[i] = n
		}
	}
	text := fmt.Sprintf("%s: %s read, %s merged, %s written", *m.phase.Load(), setting.Count(m.reported[0], "record"), setting.Count(m.reported[2], "row"), setting.Count(m.reported[3], "byte"))
	if text != m.lastText {
		_ = streaming.Status(m.w, text)
		m.lastText = text
	}
}

// close reports the remaining changes.
func (m *meter) close() {
	close(m.stop)
	<-m.done
	m.report()
}
