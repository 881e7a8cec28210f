package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// resultFlags say where a job's result goes besides standard output.
type resultFlags struct{ file string }

// observe removes the file of an earlier run, which a killed one must not be taken for, and keeps the state directory current.
func (r *resultFlags) observe(s *Session) error {
	if r.file != "" {
		if err := removeOld(r.file); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--result-file: %w", err), "result-file"))
		}
	}
	s.observers = append(s.observers, &stateWriter{session: s})
	return nil
}

// removeOld says early that a file cannot be written, and takes an old one away.
func removeOld(name string) error {
	info, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", filepath.Dir(name))
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stateWriter keeps a job's state directory current, for status: how far the job is while it runs, and what it came to. A
// job without a state directory has nothing to report. Of a run of several jobs it is the one under way.
type stateWriter struct {
	session *Session

	mu     sync.Mutex
	stop   chan struct{}      // nil before the job has begun, or waits to begin
	opened *progress.Progress // of a job that has not begun yet
	paused *progress.Pause
	done   sync.WaitGroup
	warn   sync.Once
}

func (w *stateWriter) Events() progress.Events {
	return progress.Events{OnOpen: func(s progress.Start) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.Table = w.session.about.Spec.Table
		w.opened = &progress.Progress{Schema: 1, Began: time.Now().UTC(), Start: s}
	}, OnStart: func(s progress.Start) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.opened = nil
		if s.Job == "" || s.Attempt == 0 {
			return
		}
		if checkpoint.IsOurs(s.Job) {
			w.failed(w.session.recorded().Write(s.Job))
		}
		w.begin()
	}, OnPause: func(p progress.Pause) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.paused = &p; p.Reason == "" {
			w.paused = nil
		} else if w.opened != nil {
			w.begin()
		}
	}}
}

// begin begins to write.
func (w *stateWriter) begin() {
	if w.stop == nil {
		stop := make(chan struct{}) // the field may be nil again when the loop begins
		w.stop = stop
		w.done.Go(func() { w.loop(stop) })
	}
}

func (w *stateWriter) loop(stop <-chan struct{}) {
	tick := time.NewTicker(checkpoint.LiveEvery)
	defer tick.Stop()
	for {
		w.tell()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// tell writes how far the job is, unless the next run of it has begun. That it cannot is reported once.
func (w *stateWriter) tell() {
	p := w.session.tracker.Progress()
	w.mu.Lock()
	opened, paused := w.opened, w.paused
	w.mu.Unlock()
	if opened != nil {
		now := p.At
		p = *opened
		p.At = now
	}
	if opened == nil && p.Start.Attempt == 0 || !checkpoint.IsOurs(p.Start.Job) {
		return
	}
	live := checkpoint.NewLive(p, w.session.Version)
	live.Command, live.Log, live.Paused = ending.CommandName(w.session.cmd), jobAttrsOf(w.session.log).tail.last(), paused
	w.failed(live.Write(p.Start.Job))
}

func (w *stateWriter) failed(err error) {
	if err != nil {
		w.warn.Do(func() {
			w.session.log.Warn("bulkload status will not show this run: no file can be written to its state directory", "error", err)
		})
	}
}

// End writes what the job came to, but for one that is another process's, and one that was done before: there the state
// reports the run that did it.
func (w *stateWriter) End(o ending.Outcome) error {
	w.mu.Lock()
	stop := w.stop
	w.stop = nil
	w.mu.Unlock()
	if stop != nil {
		close(stop)
		w.done.Wait()
		w.tell()
	}
	r := o.Result
	if r == nil || r.Job == "" || r.Already || !checkpoint.IsOurs(r.Job) {
		return nil
	}
	if err := writeTasks(r.Job, r.YARN); err != nil {
		return err
	}
	b, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(r.Job, checkpoint.EndingName), append(b, '\n'))
}

// writeTasks writes all tasks of a job on YARN into its state directory.
func writeTasks(dir string, y *result.YARN) error {
	if y == nil {
		return nil
	}
	b, err := json.MarshalIndent(y, "", " ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, checkpoint.TasksName), append(b, '\n'))
}
