package mapreduce

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Settings are the settings of a job on YARN. The plan determines those that are zero.
type Settings struct {
	Queue         string
	MapMemory     int // of containers, MiB
	ReduceMemory  int
	Maps, Reduces int
	Hadoop        string // program or home of Hadoop's client; default: searched for
	// KillOnStop kills the application when the process is asked to stop. Default: the application continues, and the same command attaches to it.
	KillOnStop bool
}

// Validate returns an error for invalid numbers.
func (s Settings) Validate() error {
	for name, n := range map[setting.Name]int{setting.MapMemory: s.MapMemory, setting.ReduceMemory: s.ReduceMemory} {
		if n != 0 && (n < MinMemory || n > 1<<20) {
			return fail.With(fail.Config, setting.Errorf("%s is %d MiB: a container needs %d at least", name, n, MinMemory))
		}
	}
	if s.Maps < 0 || s.Maps > share.Most || s.Reduces < 0 || s.Reduces > share.Most {
		return fail.With(fail.Config, setting.Errorf("%s and %s are 1 to %d", setting.Maps, setting.Reduces, share.Most))
	}
	return nil
}

// Submission is the journal's record of a job.
type Submission = build.SubmissionRecord

// Journal records the progress of submissions. Each call returns when the record is on disk.
type Journal interface {
	// Submitting is called before a job is submitted.
	Submitting(Submission) error
	// Submitted is called when its application is known.
	Submitted(Submission) error
	// Ended is called when the application has ended without output and has been cleaned up.
	Ended(s Submission, how string) error
}

// Engine builds the HFiles of one plan on YARN.
type Engine struct {
	Settings
	Env      *cluster.Env
	Events   progress.Events
	Journal  Journal
	Begun    *Submission // by an earlier process, if its end is unknown; nil: none
	Samples  int         // number of rows to sample from each region
	Rejects  string      // local file of bad records; empty: none
	Filtered string      // local file of records that the filter leaves out; empty: none
	Poll     time.Duration

	program string // path of the program that tasks run; empty: this program
	yarn    *yarn.Client
	fs      hdfsio.FS
}

// defaultPoll is the interval between queries to the cluster.
const defaultPoll = time.Second

// Build runs the job, or resumes the one that an earlier process has begun, and takes its output over into the staging directory,
// which is at. It calls plan when a job is to be submitted. [Forget] removes the job's other files.
func (e *Engine) Build(ctx context.Context, plan func(context.Context) (*share.Plan, error), out build.Output, at hdfsio.Location) (*Adopted, error) {
	e.Poll, e.fs = cmp.Or(e.Poll, defaultPoll), out.FS
	c, err := connect(e.Env)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	e.yarn = c
	s, over, err := e.find(ctx)
	if e.Begun != nil && ctx.Err() != nil {
		return nil, e.stopped(ctx, *e.Begun)
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = e.submit(ctx, plan, at); err != nil {
			return nil, err
		}
	}
	l, err := e.Env.Conf.Resolve(s.Dir)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	w, err := readWorkAt(ctx, e.fs, l.Path)
	if err != nil {
		return nil, err
	}
	if e.Filtered != "" && !w.Filtered {
		return nil, fail.With(fail.Check, setting.Errorf("the job was submitted to YARN without %s: leave it out, or give %s", setting.FilteredFile, setting.Restart))
	}
	if w.Plan.NewKeys != nil {
		if err := w.Plan.Mount(ctx, e.Env); err != nil {
			return nil, err
		}
	}
	if !over {
		if err := e.watch(ctx, *s, w, l.Path); err != nil {
			return nil, err
		}
	}
	a, err := Adopt(ctx, l.Path, w, out, e.Rejects, e.Filtered)
	if err != nil {
		return nil, err
	}
	build.WarnLacking(parts(a.Maps), e.Events)
	a.Tasks = runs(a)
	e.clock(ctx, s.Application, a.Tasks)
	for _, r := range a.Regions {
		for _, f := range r.Files() {
			e.Events.Hfile(progress.HFile{Name: f.Name, Region: r.InSort(), Rows: f.Rows, Cells: f.Cells, Bytes: f.Bytes})
		}
	}
	return a, nil
}

// Forget removes the files of a job other than its HFiles.
func Forget(ctx context.Context, env *cluster.Env, s Submission) error {
	fsys, name, err := env.Resolve(s.Dir)
	if err != nil {
		return err
	}
	return fail.With(fail.HDFS, fsys.RemoveAll(ctx, name))
}

// Kill ends the application of a job that is discarded, if there is one.
func Kill(ctx context.Context, env *cluster.Env, s Submission) error {
	c, err := connect(env)
	if err != nil {
		return err
	}
	defer c.Close()
	e := &Engine{Env: env, yarn: c, Poll: defaultPoll}
	return e.kill(ctx, s)
}

// kill ends all applications with the job's tag, and waits for their end.
func (e *Engine) kill(ctx context.Context, s Submission) error {
	all, err := e.yarn.AllByTag(ctx, s.Tag)
	if err != nil {
		return fail.With(fail.Load, fmt.Errorf("end the application of %s: %w", s.Tag, err))
	}
	for _, a := range all {
		if a.State.Ended() {
			continue
		}
		if err := e.yarn.Kill(ctx, a.ID); err != nil {
			return notEnded(a.ID, err)
		}
		if err := e.awaitEnd(ctx, a.ID); err != nil {
			return err
		}
	}
	return nil
}

// maxKillSilence is how long the cluster may be unreachable after it has accepted the end of an application.
const maxKillSilence = time.Minute

// awaitEnd waits until an application has ended. Until then it asks for the end again, as Hadoop's YarnClientImpl does: a ResourceManager that fails over
// before it has stored the request forgets it.
func (e *Engine) awaitEnd(ctx context.Context, id string) error {
	answered, silent := time.Now(), error(nil)
	for {
		if err := retry.Sleep(ctx, e.Poll); err != nil {
			return errors.Join(err, silent)
		}
		a, err := e.yarn.Application(ctx, id)
		if err == nil && a.State.Ended() {
			return nil
		}
		if err == nil {
			err = e.yarn.Kill(ctx, id)
		}
		switch {
		case err == nil:
			answered, silent = time.Now(), nil
		case ctx.Err() != nil:
			if !errors.Is(err, ctx.Err()) { // an answer at the same moment
				err, silent = ctx.Err(), err
			}
			return fail.Errorf(fail.Load, "end %s: %w", id, errors.Join(err, silent))
		case !errors.Is(err, yarn.ErrUnreachable) || time.Since(answered) >= maxKillSilence:
			return notEnded(id, err)
		default:
			silent = err
		}
	}
}

// newTag returns a unique tag.
func newTag() string {
	var b [8]byte
	rand.Read(b[:]) // it does not fail
	return "bulkload-" + hex.EncodeToString(b[:])
}

// find looks for the job that an earlier process has begun. It returns nil if there is none or if it has ended without output; over
// reports whether its output is complete.
func (e *Engine) find(ctx context.Context) (s *Submission, over bool, err error) {
	if e.Begun == nil {
		return nil, false, nil
	}
	begun := *e.Begun
	l, err := e.Env.Conf.Resolve(begun.Dir)
	if err != nil {
		return nil, false, fail.With(fail.Config, err)
	}
	// The output takes precedence over the servers: the job has succeeded if it is complete.
	if over, err = committed(ctx, e.fs, l.Path); err != nil {
		return nil, false, err
	}
	if over {
		e.Events.Note("an earlier application completed the build", "application", begun.Application)
		return &begun, true, nil
	}
	if begun.Application == "" {
		all, err := e.yarn.AllByTag(ctx, begun.Tag)
		if err != nil {
			return nil, false, e.unreachable(begun, err)
		}
		if len(all) == 0 {
			return nil, false, e.ended(ctx, begun, "it was not submitted")
		}
		begun.Application = all[len(all)-1].ID
		if err := e.Journal.Submitted(begun); err != nil {
			return nil, false, err
		}
	}
	how, err := e.outcome(ctx, begun)
	switch {
	case err != nil:
		return nil, false, err
	case how == "":
		e.Events.Note("attached to the application of an earlier attempt", "application", begun.Application)
		return &begun, false, nil
	}
	return nil, false, e.ended(ctx, begun, how)
}

// ended records the end of a job without output, and removes its directory.
func (e *Engine) ended(ctx context.Context, s Submission, how string) error {
	e.Events.Note("the application left no output", "application", s.Application, "because", how)
	if err := Forget(ctx, e.Env, s); err != nil {
		return err
	}
	return e.Journal.Ended(s, how)
}

// unreachable returns the error for a cluster that does not report the outcome of a job.
func (e *Engine) unreachable(s Submission, err error) error {
	if errors.Is(err, yarn.ErrDenied) {
		return fail.With(fail.Check, fmt.Errorf("ask about %s: %w", cmp.Or(s.Application, s.Tag), err))
	}
	return fail.With(fail.Load, fmt.Errorf("the outcome of %s is unknown: %w (the same command asks again)", cmp.Or(s.Application, s.Tag), err))
}

// outcome describes how an application without output has ended. It returns "" for one that still runs.
func (e *Engine) outcome(ctx context.Context, s Submission) (string, error) {
	a, err := e.yarn.Application(ctx, s.Application)
	switch {
	case err == nil && !a.State.Ended():
		return "", nil
	case err == nil && a.Succeeded():
		return "", e.noOutput(ctx, s)
	case err == nil:
		return fmt.Sprintf("it ended as %s (%s)", a.State, a.Final), nil
	case !errors.Is(err, yarn.ErrUnknown):
		return "", e.unreachable(s, err)
	}
	// The ResourceManager has forgotten it; MapReduce's history server may know it.
	j, err := e.yarn.Job(ctx, s.Application)
	switch {
	case err == nil && j.State == "SUCCEEDED":
		return "", e.noOutput(ctx, s)
	case err == nil && (j.State == "FAILED" || j.State == "KILLED" || j.State == "ERROR"):
		return "it ended as " + j.State, nil
	case err != nil && !errors.Is(err, yarn.ErrUnknown):
		return "", e.unreachable(s, err)
	}
	// A ResourceManager that was started again forgets what has ended, and without recovery also what ran: NodeManagers end the containers of
	// applications that it does not know. A container that is out of its reach can only write to the directory of its own submission.
	switch forgotten, unsure := e.yarn.Forgotten(ctx, s.Application); {
	case forgotten:
		return "the ResourceManager was started again, and does not know it", nil
	case errors.Is(unsure, yarn.ErrUnreachable):
		return "", e.unreachable(s, unsure)
	case errors.Is(err, yarn.ErrUnreachable): // the history server, which may know it
		return "", e.unreachable(s, err)
	}
	return "", fail.With(fail.Check, setting.Errorf("YARN does not know %s, which an earlier attempt submitted, and its output in %s is incomplete: check that it has ended, and give %s to start over",
		s.Application, s.Dir, setting.Restart))
}

// noOutput returns an error if an application that reports success has no complete output.
func (e *Engine) noOutput(ctx context.Context, s Submission) error {
	l, err := e.Env.Conf.Resolve(s.Dir)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	if ok, err := committed(ctx, e.fs, l.Path); ok || err != nil {
		return err
	}
	return fail.With(fail.Unexpected, setting.Errorf("%s has succeeded, but %s is missing: its output was removed (%s starts over)", s.Application, path.Join(s.Dir, outName, successName), setting.Restart))
}

// stopped handles a request to stop the process while its job runs. The application of a job that another process has taken over is that process's.
func (e *Engine) stopped(ctx context.Context, s Submission) error {
	cause := context.Cause(ctx)
	if !e.KillOnStop || fail.KindOf(cause) == fail.Busy {
		e.Events.Warn("the application continues: the same command attaches to it", "application", cmp.Or(s.Application, s.Tag))
		return cause
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := e.kill(ctx, s); err != nil {
		return errors.Join(cause, fmt.Errorf("%w (it may continue: the same command attaches to it)", err))
	}
	return errors.Join(cause, e.ended(ctx, s, "it was killed with the command"))
}
