package mapreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
)

// maxSilence is how long the cluster may be unreachable before the command gives up. The application continues then.
const maxSilence = 10 * time.Minute

// watcher monitors one application.
type watcher struct {
	*Engine
	submission Submission
	work       *Work
	dir        string
	seen       map[string]bool // verdicts
	counted    map[string]int64
	judged     bool
	writing    bool
	answered   time.Time
}

// watch returns when the job's output is complete. It kills a job that cannot succeed, and records the end of a failed one.
func (e *Engine) watch(ctx context.Context, s Submission, w *Work, dir string) error {
	f := &watcher{Engine: e, submission: s, work: w, dir: dir, seen: map[string]bool{}, counted: map[string]int64{}, answered: time.Now()}
	e.Events.Note("application runs", "application", s.Application, "maps", s.Maps, "reduces", s.Reduces)
	e.Events.Phase("read")
	e.Events.Total("read", progress.Amount{Bytes: w.Plan.Bytes()})
	for {
		done, err := f.look(ctx)
		if ctx.Err() != nil {
			return e.stopped(ctx, s)
		}
		if done || err != nil {
			return err
		}
		if retry.Sleep(ctx, e.Poll) != nil {
			return e.stopped(ctx, s)
		}
	}
}

// look queries the state once.
func (f *watcher) look(ctx context.Context) (done bool, err error) {
	app, err := f.yarn.Application(ctx, f.submission.Application)
	if err == nil {
		f.answered = time.Now()
	}
	switch {
	case errors.Is(err, yarn.ErrUnknown):
		if ok, err := committed(ctx, f.fs, f.dir); ok || err != nil {
			return ok, err
		}
		how, err := f.outcome(ctx, f.submission)
		switch {
		case err == nil && how != "":
			err = errors.Join(fail.With(fail.Load, fmt.Errorf("%s: %s", f.submission.Application, how)), f.ended(ctx, f.submission, how))
		case errors.Is(err, yarn.ErrUnreachable) && time.Since(f.answered) < maxSilence:
			err = nil // such as a ResourceManager that is being started
		}
		return false, err
	case errors.Is(err, yarn.ErrUnreachable) && time.Since(f.answered) < maxSilence:
		return false, nil
	case err != nil:
		return false, f.unreachable(f.submission, err)
	case app.Succeeded():
		return true, f.noOutput(ctx, f.submission)
	case app.State.Ended():
		return false, f.failed(ctx, app)
	}
	if err := f.verdict(ctx); err != nil {
		return false, err
	}
	if app.State == yarn.Running {
		return false, f.progress(ctx)
	}
	return false, nil
}

// verdict ends a job if one of its attempts reports that it cannot succeed.
func (f *watcher) verdict(ctx context.Context) error {
	all, err := verdicts(ctx, f.fs, path.Join(f.dir, errorsName), f.seen)
	if err != nil {
		return err
	}
	for _, v := range all {
		f.Events.Warn("an attempt of a task failed", "attempt", v.Attempt, "error", v.Error)
	}
	if v := firstPermanent(all); v != nil {
		return f.end(ctx, v.err())
	}
	return nil
}

// end kills the application, with cause as the reason.
func (f *watcher) end(ctx context.Context, cause error) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := f.kill(ctx, f.submission); err != nil {
		f.Events.Warn("the application could not be ended", "application", f.submission.Application, "error", err)
		return cause
	}
	return errors.Join(cause, f.ended(ctx, f.submission, "it could not succeed"))
}

// notEnded returns the error of an application that could not be ended. If the user may not end it, another attempt does not help.
func notEnded(id string, err error) error {
	if errors.Is(err, yarn.ErrDenied) {
		return fail.Errorf(fail.Check, "end %s: %w (as a user who may: yarn application -kill %[1]s)", id, err)
	}
	return fail.Errorf(fail.Load, "end %s: %w", id, err)
}

// progress reports the job's progress. It ignores errors of the queries.
func (f *watcher) progress(ctx context.Context) error {
	counters, err := f.yarn.Counters(ctx, f.submission.Application)
	if err != nil {
		return nil
	}
	now := map[string]int64{}
	for _, c := range counters {
		if c.Group == counterGroup {
			now[c.Name] = max(c.Total, f.counted[c.Name]) // YARN subtracts the counts of failed attempts
		}
	}
	since := func(name string) int64 { return now[name] - f.counted[name] }
	f.Events.Rows(since(counterRows), since(counterBytes))
	j, err := f.yarn.Job(ctx, f.submission.Application)
	if err == nil {
		f.Events.Tasks(progress.Tasks{Application: f.submission.Application, Maps: j.Maps, MapsDone: j.MapsDone, MapsRunning: j.MapsRunning,
			Reduces: j.Reduces, ReducesDone: j.ReducesDone, ReducesRunning: j.ReducesRunning, Failed: j.Failed})
	}
	if err == nil && j.Maps > 0 && j.MapsDone == j.Maps {
		if !f.writing {
			f.writing = true
			f.Events.Note("all maps are done", "maps", j.Maps)
			f.Events.Phase("write")
			f.Events.Total("write", progress.Amount{Rows: now[counterRows] * int64(1+len(f.work.Plan.Tables))})
			f.counted[counterMerged], f.counted[counterWritten] = now[counterMerged], now[counterWritten] // excludes the maps' own merges
		}
		if err := f.judge(ctx); err != nil {
			return f.end(ctx, err)
		}
		f.Events.Merged(since(counterMerged))
		f.Events.Written(since(counterWritten))
	}
	maps.Copy(f.counted, now)
	return nil
}

// judge evaluates the input that all maps have read, before the reduces have written everything. If the descriptions cannot be read now,
// they are evaluated at the end.
func (f *watcher) judge(ctx context.Context) error {
	if f.judged {
		return nil
	}
	f.judged = true
	all, err := readMaps(ctx, f.fs, f.dir, f.work)
	if err != nil {
		return nil
	}
	f.Events.Records(build.CountsOf(parts(all)))
	return f.work.Plan.Judge(parts(all))
}

// failed returns the error of an application that ended without success.
func (f *watcher) failed(ctx context.Context, app yarn.Application) error {
	how := fmt.Sprintf("%s ended as %s (%s)", app.ID, app.State, app.Final)
	cause := f.cause(ctx, app, how)
	return errors.Join(cause, f.ended(ctx, f.submission, how))
}

// cause determines why an application failed: from an attempt's verdict, else from its log, else from YARN's diagnostics.
func (f *watcher) cause(ctx context.Context, app yarn.Application, how string) error {
	all, err := verdicts(ctx, f.fs, path.Join(f.dir, errorsName), nil)
	if err == nil && len(all) > 0 && app.Final != yarn.Killed {
		cause := cmp.Or(firstPermanent(all), all[len(all)-1]).err()
		return fail.With(fail.KindOf(cause), fmt.Errorf("%s: %w", how, cause))
	}
	text := how
	if app.Diagnostics != "" {
		text += ": " + app.Diagnostics
	}
	if app.State == yarn.KilledApp || app.Final == yarn.Killed { // by a user, an administrator or a limit of the queue
		return fail.With(fail.Load, errors.New(text))
	}
	if a, ok := f.lastFailed(ctx); ok {
		log := f.log(ctx, a)
		if err := f.cannotRun(ctx, a, log); err != nil {
			return fail.With(fail.KindOf(err), fmt.Errorf("%s: %w", how, err))
		}
		text += "; " + log
	}
	return fail.With(fail.Unexpected, errors.New(text))
}

// maxLog is the maximum number of bytes of an attempt's standard error in a message.
const maxLog = 2 << 10

// lastFailed returns the last attempt of the first failed task.
func (f *watcher) lastFailed(ctx context.Context) (yarn.Attempt, bool) {
	tasks, err := f.yarn.Tasks(ctx, f.submission.Application)
	if err != nil {
		return yarn.Attempt{}, false
	}
	for _, t := range tasks {
		if t.State == "FAILED" {
			attempts, err := f.yarn.Attempts(ctx, f.submission.Application, t.ID)
			if err != nil || len(attempts) == 0 {
				return yarn.Attempt{}, false
			}
			return attempts[len(attempts)-1], true
		}
	}
	return yarn.Attempt{}, false
}

// log returns Java's diagnostics of an attempt, and the end of the program's standard error.
func (f *watcher) log(ctx context.Context, a yarn.Attempt) string {
	text := a.ID
	if a.Diagnostics != "" {
		text += ": " + a.Diagnostics
	}
	if said, err := f.yarn.Log(ctx, a, "stderr", maxLog); err == nil && len(said) > 0 {
		text += "; it said at the end:\n" + strings.TrimSpace(string(said))
	}
	return text
}

// Kinds of a [result.Task].
const (
	kindMap    = "map"
	kindReduce = "reduce"
)

// stragglerTime is the minimum excess over the median for a straggler.
const stragglerTime = 10 * time.Second

// clockTime is the time limit for the servers' answers.
const clockTime = 10 * time.Second

// runs collects the statistics of all tasks. Maps are in the order of the input and reduces in the order of the regions.
func runs(a *Adopted) (all []result.Task) {
	for _, m := range a.Maps {
		r := taskRun(m.Attempt, m.Ran)
		r.Kind, r.Rows, r.Rejected, r.Bytes = kindMap, m.Records, m.Rejected, m.Ran.Read
		all = append(all, r)
	}
	for _, d := range a.Reduces {
		r := taskRun(d.Attempt, d.Ran)
		r.Kind = kindReduce
		for _, s := range d.streamed() {
			r.Rows += s.Digest.Rows
			for _, f := range s.Files {
				r.Bytes += f.Bytes
			}
		}
		all = append(all, r)
	}
	return all
}

// taskRun returns the statistics of a task without its kind and its amounts. Attempts are counted up to the successful one, without later
// speculative attempts and attempts of an ApplicationMaster that is gone. It parses the numbers of a task and of its attempt from the attempt's id: with the n-th ApplicationMaster, attempts are
// numbered from 1000 (n-1).
func taskRun(attempt string, ran Ran) result.Task {
	r := result.Task{Node: ran.Node, Shuffled: ran.Shuffled, Program: max(ran.Ended.Sub(ran.Began), 0), Attempts: 1}
	r.Wall = r.Program
	if parts := strings.Split(attempt, "_"); len(parts) == 6 {
		r.Number, _ = strconv.Atoi(parts[4])
		try, _ := strconv.Atoi(parts[5])
		r.Attempts = try%1000 + 1
	}
	return r
}

// clock gets the time of each task from the servers that have monitored it: the ApplicationMaster, or the history server after its end. It is
// not an error if they do not answer.
func (e *Engine) clock(ctx context.Context, application string, all []result.Task) {
	ctx, cancel := context.WithTimeout(ctx, clockTime)
	defer cancel()
	if tasks, err := e.yarn.Tasks(ctx, application); err == nil {
		timeTasks(tasks, all)
	}
	markStragglers(all)
}

func timeTasks(tasks []yarn.Task, all []result.Task) {
	type id struct {
		isMap  bool
		number int
	}
	took := map[id]time.Duration{}
	for _, t := range tasks {
		took[id{t.Map, t.Number}] = t.Elapsed
	}
	for i := range all {
		all[i].Wall = max(took[id{all[i].Kind == kindMap, all[i].Number}], all[i].Wall)
	}
}

func markStragglers(all []result.Task) {
	for _, kind := range []string{kindMap, kindReduce} {
		var walls []time.Duration
		for _, r := range all {
			if r.Kind == kind {
				walls = append(walls, r.Wall)
			}
		}
		if len(walls) == 0 {
			continue
		}
		slices.Sort(walls)
		median := walls[(len(walls)-1)/2]
		for i, r := range all {
			if r.Kind == kind {
				all[i].Straggler = r.Wall > 2*median && r.Wall > median+stragglerTime
			}
		}
	}
}
