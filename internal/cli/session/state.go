package session

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/streams"
)

// removeOld removes an old file, and returns an error early if the new file cannot be written: it creates a file in the directory, and removes it.
func removeOld(name string) error {
	name, err := durable.Target(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), durable.TempPattern(name))
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = name
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// stateWriter keeps a job's state directory current for status: with the progress while the job runs, and with its
// outcome. It does nothing for a job without a state directory. In a run of several jobs it writes the state of the
// current one.
type stateWriter struct {
	session *Session

	mu     sync.Mutex
	stop   chan struct{}      // nil before the job begins or waits to begin
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
		if status.IsOurs(s.Job) {
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

func (w *stateWriter) begin() {
	if w.stop == nil {
		stop := make(chan struct{}) // the field may be nil again when the loop begins
		w.stop = stop
		w.done.Go(func() { w.loop(stop) })
	}
}

func (w *stateWriter) loop(stop <-chan struct{}) {
	tick := time.NewTicker(status.LiveEvery)
	defer tick.Stop()
	for {
		w.writeProgress()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// writeProgress writes the job's progress, unless the next run of the job has begun. It reports a failed write only once.
func (w *stateWriter) writeProgress() {
	p := w.session.tracker.Progress()
	w.mu.Lock()
	opened, paused := w.opened, w.paused
	w.mu.Unlock()
	if opened != nil {
		now := p.At
		p = *opened
		p.At = now
	}
	if opened == nil && p.Start.Attempt == 0 || !status.IsOurs(p.Start.Job) {
		return
	}
	live := status.NewLive(p, w.session.program.Build.Version)
	live.Command, live.Log, live.Paused = ending.CommandName(w.session.cmd), jobAttrsOf(w.session.log).tail.last(), paused
	if err := live.Write(p.Start.Job); status.IsOurs(p.Start.Job) { // else the job has ended meanwhile
		w.failed(err)
	}
}

func (w *stateWriter) failed(err error) {
	if err != nil {
		w.warn.Do(func() {
			w.session.log.Warn("bulkload status will not show this run: no file can be written to its state directory", "error", err)
		})
	}
}

// End writes the outcome of the job, unless another process works on the job, or the job was done before: then the
// state keeps the outcome of the run that did it.
func (w *stateWriter) End(_ context.Context, o ending.Outcome) error {
	w.mu.Lock()
	stop := w.stop
	w.stop = nil
	w.mu.Unlock()
	if stop != nil {
		close(stop)
		w.done.Wait()
		w.writeProgress()
	}
	r := o.Result
	if r != nil {
		if err := endPart(o); err != nil {
			return err
		}
	}
	if r == nil || r.Job == "" || r.Already || !status.IsOurs(r.Job) {
		return nil
	}
	if err := writeTasks(r.Job, r.YARN); err != nil {
		return err
	}
	return writeEnding(r.Job, o.Object)
}

// endPart writes the outcome of the unfinished directory at which a split run ended: that directory's job is not the
// job of the run.
func endPart(o ending.Outcome) error {
	i := slices.IndexFunc(o.Result.Parts, func(p result.Part) bool { return p.Status == result.PartFailed || p.Status == result.PartStopped })
	if i < 0 || o.Result.Parts[i].Job == "" || !status.IsOurs(o.Result.Parts[i].Job) {
		return nil
	}
	part, end := o.Result.Parts[i], *o.Object
	end.Job, end.Began, end.Seconds, end.Rejected, end.Filtered = part.Job, part.Began, part.Elapsed.Seconds(), part.Rejected, part.Filtered
	end.Attempt, end.Phases, end.Rates, end.Report, end.Result = 0, nil, nil, "", nil
	if start := o.Progress.Start; start.Job == part.Job {
		end.Attempt = start.Attempt
	}
	return writeEnding(part.Job, &end)
}

func writeEnding(dir string, o *ending.Object) error {
	b, err := lineOf(o)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, status.EndingName), b)
}

func writeTasks(dir string, y *result.YARN) error {
	if y == nil {
		return nil
	}
	b, err := json.MarshalIndent(y, "", " ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, status.TasksName), append(b, '\n'))
}

// recordedEnv are the variables that a recorded command has besides those of settings: the locations of configuration and state. They
// contain no credentials.
var recordedEnv = []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "KRB5_CONFIG", "KRB5CCNAME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "TZ"}

// recorded returns the command for the job's directory, from which the console restarts it.
func (s *Session) recorded() status.Command {
	c := status.Command{Schema: 1, Args: s.program.Args, UID: os.Getuid(), Env: map[string]string{}}
	c.Host, _ = os.Hostname()
	c.Dir, _ = os.Getwd()
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(recordedEnv, name) || strings.HasPrefix(name, "BULKLOAD_") && !strings.HasPrefix(name, "BULKLOAD_TEST_") {
			c.Env[name] = value
		}
	}
	if found := settings.Of(s.cmd); found.ByDay {
		end := len(c.Args) // of the flags
		if n := s.cmd.Flags().ArgsLenAtDash(); n >= 0 {
			end -= s.cmd.Flags().NArg() - n + 1
		}
		c.Args = slices.Insert(slices.Clone(c.Args), end, "--date="+found.Day.Whole()) // so that yesterday keeps its meaning on another day
	}
	restart, _ := s.cmd.Flags().GetBool("restart")
	switch {
	case len(streams.Places(s.about.Spec.Inputs)) > 0:
		c.Unfit = "reads a stream"
	case restart:
		c.Unfit = "has --restart, which discards what is done"
	}
	return c
}
