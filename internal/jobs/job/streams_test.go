package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// streamJob is a job with standard input and a journal, without a cluster.
type streamJob struct {
	t                 *testing.T
	state, spill, out string
	spec              spec.Spec
	memory            spec.Size
	notes             []string
}

func newStreamJob(t *testing.T) *streamJob {
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{"-"}, 1700000000000
	return &streamJob{t: t, state: t.TempDir(), spill: t.TempDir(), out: t.TempDir(), spec: s, memory: 32 << 20}
}

// open takes the job's lock, and opens its input as [run.openInput] does.
func (b *streamJob) open(ctx context.Context, stdin *os.File) (*run, error) {
	b.t.Helper()
	env, s := jobtest.Env(b.t), jobtest.Resolve(b.t, b.spec)
	id, err := checkpoint.Identify(env, s, "")
	if err != nil {
		b.t.Fatal(err)
	}
	st, err := checkpoint.Open(ctx, nil, id.On("test"), checkpoint.Options{Dir: b.state}, progress.Events{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = st.Close() })
	b.notes = nil
	o := RunOptions{WorkOptions: build.WorkOptions{Workers: 2, Memory: b.memory, SpillDir: b.spill, Stdin: stdin}}
	o.Events.OnNote = func(msg string, _ ...any) { b.notes = append(b.notes, msg) }
	j := &run{env: env, spec: s, options: o, job: st}
	if j.streams, err = streams.Find(ctx, env.Source, s.Inputs, stdin, st.Streams); err != nil {
		return j, err
	}
	n := streams.Needed{Bound: st.History.Plan != nil, Built: st.Built != nil, Over: st.Finished || st.Loading}
	if j.input, err = build.OpenStreams(ctx, j.streams, s, o.WorkOptions, st.Resume(), n); err != nil && !n.Bound {
		err = errors.Join(err, j.abandonStreams(err))
	}
	return j, err
}

// plan records the plan, or compares it with the recorded one.
func (b *streamJob) plan(j *run) error {
	now, err := j.planRecord(b.t.Context())
	if err != nil {
		return err
	}
	now.Table, now.Family = j.spec.Table, jobtest.Family
	if old := j.job.History.Plan; old != nil {
		return old.Same(now)
	}
	j.job.History.Plan = &now
	return j.job.Record(history.EventPlan, now)
}

// build builds up to stopAfter files; 0: all.
func (b *streamJob) build(j *run, stopAfter int) (*manifest.Manifest, error) {
	b.t.Helper()
	plan, err := cells.NewPlan(j.spec, j.input.Source.Columns(), jobtest.Family, partition.SaltSplits(10), 0)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	n, w := 0, j.options.WorkOptions
	w.Events.OnHFile = func(progress.HFile) {
		if n++; n == stopAfter {
			cancel()
		}
	}
	m, err := j.input.Build(ctx, plan, build.Output{FS: hdfsio.Local{}, Dir: b.out}, w, 0, j.job.Resume())
	if err != nil {
		return nil, errors.Join(err, j.abandon(ctx, err))
	}
	return m, j.job.Record(history.EventBuilt, history.BuiltRecord{Manifest: m.Summary()})
}

// endAsKilled ends an attempt as a kill does: files on disk are kept.
func (j *run) endAsKilled(t *testing.T) {
	t.Helper()
	if err := errors.Join(j.streams.Close(), j.job.Close()); err != nil {
		t.Fatal(err)
	}
}

func (b *streamJob) wantSpill(n int, when string) {
	b.t.Helper()
	if left, err := os.ReadDir(b.spill); err != nil || len(left) != n {
		b.t.Errorf("%s: the spill directory has %v %v", when, left, err)
	}
}

func (b *streamJob) wantNote(text string) {
	b.t.Helper()
	if !strings.Contains(strings.Join(b.notes, "\n"), text) {
		b.t.Errorf("no note %q in %q", text, b.notes)
	}
}

func wantError(t *testing.T, err error, kind fail.Kind, want string) {
	t.Helper()
	if fail.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("kind %d: %v; want kind %d: %s", fail.KindOf(err), err, kind, want)
	}
}

func pipeOf(t *testing.T, b []byte) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = w.Write(b); _ = w.Close() }()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func nothing(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func export(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(jobtest.Export(t, "check.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStreamOfTooLongRows checks that the copy of a stream stays if its rows are too long for the memory: an attempt with more memory needs no other export.
func TestStreamOfTooLongRows(t *testing.T) {
	b := newStreamJob(t)
	data := export(t)
	lines := bytes.SplitAfterN(data, []byte("\n"), 14)
	for i, line := range lines[1:13] {
		lines[i+1] = slices.Concat(bytes.TrimRight(line, "\r\n"), bytes.Repeat([]byte("x"), 3<<20), []byte("\n"))
	}
	data = bytes.Join(lines, nil)
	j, err := b.open(t.Context(), pipeOf(t, data))
	testcheck.Must(t, err)
	testcheck.Must(t, b.plan(j))
	_, err = b.build(j, 0)
	if !errors.Is(err, extsort.ErrMemory) {
		t.Fatal(err)
	}
	j.endAsKilled(t)
	b.memory = 256 << 20
	j, err = b.open(t.Context(), nothing(t))
	testcheck.Must(t, err)
	testcheck.Must(t, b.plan(j))
	_, err = b.build(j, 0)
	testcheck.Must(t, err)
	j.endAsKilled(t)
}

// TestStreamOfAnEarlierAttempt ends an attempt after each step, and runs the next one without a stream, with the same stream, and with another.
func TestStreamOfAnEarlierAttempt(t *testing.T) {
	data := export(t)
	other := bytes.Replace(data, []byte("1"), []byte("2"), 1)
	steps := []string{"copied", "planned", "sorted", "built", "loading"}
	for at, step := range steps {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,%t", step, lost), func(t *testing.T) {
				b := newStreamJob(t)
				j, err := b.open(t.Context(), pipeOf(t, data))
				if err != nil {
					t.Fatal(err)
				}
				if at >= 1 {
					err = b.plan(j)
				}
				if at == 2 {
					if _, err = b.build(j, 3); errors.Is(err, context.Canceled) {
						err = nil
					}
				}
				if at >= 3 {
					_, err = b.build(j, 0)
				}
				if at == 4 && err == nil {
					err = j.job.Record(history.EventLoading, history.FilesRecord{})
				}
				if err != nil {
					t.Fatal(err)
				}
				copied := j.job.Streams["-"].Copy
				j.endAsKilled(t)
				if lost {
					if err := os.Remove(copied); err != nil {
						t.Fatal(err)
					}
				}

				// No stream is given.
				j, err = b.open(t.Context(), nothing(t))
				switch {
				case lost && at < 3:
					wantError(t, err, fail.Input, fmt.Sprintf("standard input was read to its end, byte %d, by a failed attempt, and its copy is gone", len(data)))
				case err != nil:
					t.Fatal(err)
				case lost:
					b.wantNote("the stream is not needed")
					if err := b.plan(j); err != nil || j.input != nil {
						t.Errorf("the plan: %v", err)
					}
				default:
					b.wantNote("the copy of a stream that an earlier attempt made is used")
					if err := b.plan(j); err != nil {
						t.Error(err)
					}
				}
				j.endAsKilled(t)
				if at == 0 {
					return // there is a plan now, or the journal only has the digest
				}

				// Another stream, and nothing is left of the first.
				j, err = b.open(t.Context(), pipeOf(t, other))
				wantError(t, err, fail.Input, fmt.Sprintf("the input has changed since this job began: standard input had %d bytes with the checksum", len(data)))
				j.endAsKilled(t)
				j, err = b.open(t.Context(), pipeOf(t, nil))
				wantError(t, err, fail.Input, "it has 0 bytes with the checksum 00000000")
				j.endAsKilled(t)

				// The same stream.
				if j, err = b.open(t.Context(), pipeOf(t, data)); err != nil {
					t.Fatal(err)
				}
				if err := b.plan(j); err != nil {
					t.Error(err)
				}
				if at < 3 {
					if m, err := b.build(j, 0); err != nil || m.Records != 3000 {
						t.Errorf("%v %v", m, err)
					}
				}
				if lost && at == 4 && j.input != nil {
					t.Error("a copy is made that nothing needs")
				}
				if err := errors.Join(j.job.Resume().DropSpill(), j.job.Resume().DropStreams()); err != nil {
					t.Error(err)
				}
				b.wantSpill(0, "at the end")
				j.endAsKilled(t)
			})
		}
	}
}

// TestStreamWithoutAPlan replaces the copy of an attempt without a plan.
func TestStreamWithoutAPlan(t *testing.T) {
	b := newStreamJob(t)
	j, err := b.open(t.Context(), pipeOf(t, export(t)))
	if err != nil {
		t.Fatal(err)
	}
	j.endAsKilled(t)
	b.wantSpill(1, "after the copy")
	other := export(t)[:100_000]
	other = other[:bytes.LastIndexByte(other, '\n')+1]
	if j, err = b.open(t.Context(), pipeOf(t, other)); err != nil {
		t.Fatal(err)
	}
	b.wantSpill(1, "after the second")
	if d, ok := j.streams.Digest(0); !ok || d.Bytes != int64(len(other)) {
		t.Errorf("the digest is %v", d)
	}
	if err := j.job.Restart(t.Context(), j.env); err != nil {
		t.Fatal(err)
	}
	b.wantSpill(0, "after a restart")
	j.endAsKilled(t)

	_, err = b.open(t.Context(), pipeOf(t, []byte("no,such,columns\n1,2\n")))
	wantError(t, err, fail.Input, "")
	b.wantSpill(0, "after a stream that is not an input")
}

// TestStreamDamagedCopy checks that a changed copy is not used.
func TestStreamDamagedCopy(t *testing.T) {
	b := newStreamJob(t)
	j, err := b.open(t.Context(), pipeOf(t, export(t)))
	if err == nil {
		err = b.plan(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.endAsKilled(t)
	if err := os.WriteFile(j.job.Streams["-"].Copy, bytes.Replace(export(t), []byte("1"), []byte("2"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err = b.open(t.Context(), nothing(t))
	wantError(t, err, fail.Input, "and its copy is gone: run the export again")
	j.endAsKilled(t)
	if j, err = b.open(t.Context(), pipeOf(t, export(t))); err != nil {
		t.Fatal(err)
	}
	b.wantSpill(1, "after the same stream")
	j.endAsKilled(t)
}

// TestStreamIsAnotherKind replaces a stream by a file, and a file by a stream.
func TestStreamIsAnotherKind(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(name, export(t), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func() *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	b := newStreamJob(t)
	j, err := b.open(t.Context(), file())
	if err == nil {
		err = b.plan(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.wantSpill(0, "standard input from a file")
	j.endAsKilled(t)
	if j, err = b.open(t.Context(), file()); err != nil {
		t.Fatal(err)
	}
	if err := b.plan(j); err != nil {
		t.Error(err)
	}
	j.endAsKilled(t)
	j, err = b.open(t.Context(), pipeOf(t, export(t)))
	wantError(t, err, fail.Input, "standard input is a stream now")
	j.endAsKilled(t)

	b = newStreamJob(t)
	if j, err = b.open(t.Context(), pipeOf(t, export(t))); err == nil {
		err = b.plan(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.endAsKilled(t)
	if j, err = b.open(t.Context(), file()); err != nil { // with the same bytes
		t.Fatal(err)
	}
	if err := b.plan(j); err != nil {
		t.Error(err)
	}
	j.endAsKilled(t)
}

// streamStateEnv makes TestStreamChild read standard input until it is killed.
const streamStateEnv = "BULKLOAD_TEST_STREAM_STATE"

// TestStreamKilled kills a process while it copies a stream.
func TestStreamKilled(t *testing.T) {
	b := newStreamJob(t)
	child := exec.Command(os.Args[0], "-test.run=^TestStreamChild$")
	child.Env = append(os.Environ(), streamStateEnv+"="+b.state+":"+b.spill, "TMPDIR="+t.TempDir()) // the child removes nothing
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(make([]byte, 8<<20)); err != nil { // the last part stays in the pipe and in buffers
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	b.wantSpill(1, "after the kill")
	j, err := b.open(t.Context(), nothing(t))
	wantError(t, err, fail.Input, "by a failed attempt: run the export again, and give it to the same command")
	if !strings.Contains(fmt.Sprint(err), "standard input was read to byte ") {
		t.Error(err)
	}
	b.wantSpill(0, "after the next attempt")
	j.endAsKilled(t)
	if j, err = b.open(t.Context(), pipeOf(t, export(t))); err != nil {
		t.Fatal(err)
	}
	if err := b.plan(j); err != nil {
		t.Fatal(err)
	}
	if m, err := b.build(j, 0); err != nil || m.Records != 3000 {
		t.Error(m, err)
	}
	j.endAsKilled(t)
}

// TestStreamChild is the process that is killed.
func TestStreamChild(t *testing.T) {
	b := newStreamJob(t)
	found := false
	if b.state, b.spill, found = strings.Cut(os.Getenv(streamStateEnv), ":"); !found {
		t.Skip("part of TestStreamKilled")
	}
	_, err := b.open(t.Context(), nil)
	t.Fatal(err)
}

// TestCleanRemovesStreams checks that clean removes the copy of a job that is not resumed.
func TestCleanRemovesStreams(t *testing.T) {
	b := newStreamJob(t)
	j, err := b.open(t.Context(), pipeOf(t, export(t)))
	if err != nil {
		t.Fatal(err)
	}
	j.endAsKilled(t)
	c, err := checkpoint.Clean(t.Context(), j.env, checkpoint.CleanOptions{State: b.state, Job: filepath.Base(j.job.Dir), Remove: true})
	if c == nil || len(c.Dirs) != 1 || !c.Dirs[0].Remove || c.Dirs[0].Bytes < int64(len(export(t))) {
		t.Errorf("%+v %v", c, err)
	}
	b.wantSpill(0, "after clean")
}
