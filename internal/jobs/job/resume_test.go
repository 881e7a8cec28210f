package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// resumedBuild is a build with a journal that is stopped and resumed, without a
// cluster.
type resumedBuild struct {
	t                 *testing.T
	env               *cluster.Env
	spec              spec.Spec
	state, spill, out string
	local             string // of a build on local disk: out
	memory            spec.Size
	reads             int // number of attempts that read the input
}

func newResumedBuild(t *testing.T, spec spec.Spec) *resumedBuild {
	return &resumedBuild{t: t, env: jobtest.Env(t), spec: spec, state: t.TempDir(), spill: t.TempDir(), out: t.TempDir(), memory: 8 << 20}
}

// attempt builds as [Run] does, and stops after the given number of files; 0:
// never.
func (b *resumedBuild) attempt(stopAfter int) (*manifest.Manifest, *checkpoint.Job, error) {
	t := b.t
	t.Helper()
	id, err := checkpoint.Identify(b.env, jobtest.Resolve(t, b.spec), "")
	if err != nil {
		t.Fatal(err)
	}
	st, err := checkpoint.Open(t.Context(), nil, id.On("test"), checkpoint.Options{Dir: b.state}, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	w := build.WorkOptions{Workers: 1, Memory: b.memory, SpillDir: b.spill, RejectFile: filepath.Join(b.state, "rejects.jsonl"), Events: progress.Events{
		OnPhase: func(phase string) {
			if phase == "read" {
				b.reads++
			}
		},
		OnHFile: func(progress.HFile) {
			if n++; n == stopAfter {
				cancel()
			}
		}}}
	input, err := build.OpenInput(ctx, b.env.Source, jobtest.Resolve(t, b.spec), w)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := cells.NewPlan(jobtest.Resolve(t, b.spec), input.Source.Columns(), jobtest.Family, partition.SaltSplits(10), 0)
	if err != nil {
		t.Fatal(err)
	}
	out := build.Output{FS: hdfsio.Local{}, Dir: b.out}
	r := st.Resume()
	if err := r.KeepWritten(ctx, []build.Table{{Out: out}}); err != nil {
		t.Fatal(err)
	}
	j := &run{env: b.env, job: st, local: b.local, options: RunOptions{WorkOptions: w}}
	m, err := input.Build(ctx, plan, out, w, samplesPerRegion, r)
	if err != nil {
		err = errors.Join(err, j.abandon(ctx, err))
	}
	return m, st, err
}

// stopped runs an attempt that ends too early.
func (b *resumedBuild) stopped(after int) *checkpoint.Job {
	b.t.Helper()
	_, st, err := b.attempt(after)
	if !errors.Is(err, context.Canceled) {
		b.t.Fatalf("error is %v", err)
	}
	if err := st.Close(); err != nil {
		b.t.Fatal(err)
	}
	return st
}

// ended runs an attempt that builds all missing files, and checks that the files
// are exactly those of an undisturbed build.
func (b *resumedBuild) ended() *manifest.Manifest {
	t := b.t
	t.Helper()
	m, st, err := b.attempt(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Resume().DropSpill(), st.Close()); err != nil {
		t.Fatal(err)
	}
	whole := t.TempDir()
	want, err := build.Directory(t.Context(), b.env, jobtest.Resolve(t, b.spec), jobtest.Family, partition.SaltSplits(10), whole, build.WorkOptions{SpillDir: b.spill})
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest != want.Digest || m.Records != want.Records || m.Rejected != want.Rejected || m.Duplicates != want.Duplicates || m.HFiles != want.HFiles {
		t.Errorf("the manifest is %+v, want %+v", m.Summary(), want.Summary())
	}
	if got, want := fmt.Sprint(jobtest.Hashes(t, b.out)), fmt.Sprint(jobtest.Hashes(t, whole)); got != want {
		t.Errorf("the files are\n%s, want\n%s", got, want)
	}
	if left, err := os.ReadDir(b.spill); err != nil || len(left) > 0 {
		t.Errorf("left in the spill directory: %v %v", left, err)
	}
	return m
}

func spillingSpec(t *testing.T) spec.Spec {
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{jobtest.ManyRecords(t, 30_000)}, 1700000000000
	return s
}

// TestResumeWithSavedRuns resumes in the second pass, one file after the other, and
// checks that no file is written twice.
func TestResumeWithSavedRuns(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	before := map[string]time.Time{}
	for attempt := range 3 {
		b.stopped(2)
		err := filepath.WalkDir(filepath.Join(b.out, "f"), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if was, ok := before[name]; ok && !was.Equal(info.ModTime()) {
				t.Errorf("attempt %d wrote %s again", attempt, name)
			}
			before[name] = info.ModTime()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m := b.ended()
	if b.reads != 1 || m.Runs == 0 {
		t.Errorf("the input was read %d times, with %d runs", b.reads, m.Runs)
	}
}

// TestResumeWithoutRuns checks that the input is read again if the runs are
// damaged, missing, or lack the missing rows.
func TestResumeWithoutRuns(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, b *resumedBuild, st *checkpoint.Job)
		reads int
	}{
		"gone": {func(t *testing.T, _ *resumedBuild, st *checkpoint.Job) {
			if err := os.RemoveAll(st.Spill); err != nil {
				t.Fatal(err)
			}
		}, 2},
		"cut off": {func(t *testing.T, _ *resumedBuild, st *checkpoint.Job) {
			if err := os.Truncate(filepath.Join(st.Spill, st.Sorted.Runs[0].Name), 100); err != nil {
				t.Fatal(err)
			}
		}, 2},
		// The runs of the second attempt have no rows of the first one's files.
		"without a lost file": {func(t *testing.T, b *resumedBuild, st *checkpoint.Job) {
			if err := os.RemoveAll(st.Spill); err != nil {
				t.Fatal(err)
			}
			first := st.Written
			b.stopped(2)
			for _, w := range first {
				if err := os.Remove(filepath.Join(b.out, w.Name)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}, 3},
		"a file lost that they have": {func(t *testing.T, b *resumedBuild, st *checkpoint.Job) {
			for _, w := range st.Written {
				if err := os.Remove(filepath.Join(b.out, w.Name)); err != nil {
					t.Fatal(err)
				}
				break
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newResumedBuild(t, spillingSpec(t))
			c.spoil(t, b, b.stopped(3))
			b.ended()
			if b.reads != c.reads {
				t.Errorf("the input was read %d times, want %d", b.reads, c.reads)
			}
		})
	}
}

// TestResumeDamagedBlock checks that the attempt that finds the damage ends, and
// the next one reads the input.
func TestResumeDamagedBlock(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	st := b.stopped(1)
	f, err := os.OpenFile(filepath.Join(st.Spill, st.Sorted.Runs[0].Name), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, info.Size()/2), info.Size()/4); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, st, err = b.attempt(0)
	if !errors.Is(err, extsort.ErrCorrupt) {
		t.Fatalf("error is %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	b.ended()
	if b.reads != 2 {
		t.Errorf("the input was read %d times", b.reads)
	}
}

// withLongRows appends n bytes to each of the records of a file.
func withLongRows(t *testing.T, name string, n int) {
	t.Helper()
	records, err := os.ReadFile(name)
	testcheck.Must(t, err)
	testcheck.Must(t, os.WriteFile(name, bytes.ReplaceAll(records, []byte{0x10}, append(bytes.Repeat([]byte{'x'}, n), 0x10)), 0o600))
}

// TestResumeWithTooLittleMemory resumes with too little memory to merge the sorted rows of an earlier attempt, and checks that an attempt with more memory
// still has them.
func TestResumeWithTooLittleMemory(t *testing.T) {
	s := spillingSpec(t)
	s.Inputs = []string{jobtest.ManyRecords(t, 60)}
	withLongRows(t, s.Inputs[0], 600<<10)
	b := newResumedBuild(t, s)
	b.memory = 32 << 20
	b.stopped(1)
	for _, b.memory = range []spec.Size{8 << 20, 1 << 20} { // for merges, and for a worker
		_, st, err := b.attempt(0)
		if !errors.Is(err, extsort.ErrMemory) || fail.KindOf(err) != fail.Config || st.Sorted == nil {
			t.Fatalf("error is %v, sorted %+v", err, st.Sorted)
		}
		testcheck.Must(t, st.Close())
	}
	b.memory = 32 << 20
	if b.ended(); b.reads != 1 {
		t.Errorf("the input was read %d times", b.reads)
	}
}

// TestAbandonedFilesAreRemoved checks that a build on local disk that has failed in its second pass leaves no file: the journal forgets them, and files of
// the next attempt have other names.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	s := spillingSpec(t)
	s.Duplicates = "fail"
	records, err := os.ReadFile(s.Inputs[0])
	testcheck.Must(t, err)
	last := bytes.LastIndexByte(records[:len(records)-1], '\x10') + 1
	testcheck.Must(t, os.WriteFile(s.Inputs[0], append(records, records[last:]...), 0o600))
	b := newResumedBuild(t, s)
	b.local = b.out
	_, st, err := b.attempt(0)
	if fail.KindOf(err) != fail.BadRows || st.Plan != nil {
		t.Fatalf("error is %v", err)
	}
	testcheck.Must(t, st.Close())
	if left := jobtest.TreeFiles(t, hdfsio.Local{}, b.out); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestResumeKeepsRejects checks that the input is read again only if the file of
// bad records is missing.
func TestResumeKeepsRejects(t *testing.T) {
	s := spillingSpec(t)
	s.BadRecords = "5"
	f, err := os.OpenFile(s.Inputs[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("too\x01short\x10"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := newResumedBuild(t, s)
	b.stopped(2)
	b.stopped(2)
	rejects := filepath.Join(b.state, "rejects.jsonl")
	if _, err := os.Stat(rejects); err != nil || b.reads != 1 {
		t.Fatalf("read %d times, %v", b.reads, err)
	}
	if err := os.Remove(rejects); err != nil {
		t.Fatal(err)
	}
	m := b.ended()
	if _, err := os.Stat(rejects); err != nil || b.reads != 2 || m.Rejected != 1 || m.RejectFile != rejects {
		t.Errorf("read %d times, %d rejected into %q, %v", b.reads, m.Rejected, m.RejectFile, err)
	}
}

// TestSpillIsRemoved checks unfinished runs, and runs that a journal names
// incorrectly.
func TestSpillIsRemoved(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	st := b.stopped(1)
	if err := build.RemoveSpill(st.Dir, filepath.Dir(st.Spill)); err == nil {
		t.Error("removed a directory that is not one of runs")
	}
	records, err := os.ReadFile(filepath.Join(st.Dir, journal.FileName))
	if err != nil || len(records) == 0 {
		t.Fatal(err)
	}
	// There is no HDFS here, as the error shows.
	done, _ := checkpoint.Clean(t.Context(), b.env, checkpoint.CleanOptions{State: b.state, Job: filepath.Base(st.Dir), Remove: true})
	if len(done.Dirs) != 1 || !done.Dirs[0].Remove {
		t.Fatalf("%+v", done)
	}
	for _, dir := range []string{st.Spill, st.Dir} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("clean left %s: %v", dir, err)
		}
	}
}
