package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/partition"
)

var quickRetry = WriteRetry{Pause: time.Millisecond, Patience: 10 * time.Millisecond}

// buildInto builds the input into a directory, with ten regions and a fixed
// timestamp.
func buildInto(ctx context.Context, t testing.TB, env *cluster.Env, input string, out Output, w WorkOptions) (*manifest.Manifest, error) {
	t.Helper()
	return buildMapped(ctx, t, env, input, out, w, spec.Mapping{})
}

func buildMapped(ctx context.Context, t testing.TB, env *cluster.Env, input string, out Output, w WorkOptions, m spec.Mapping) (*manifest.Manifest, error) {
	t.Helper()
	s := spec.Spec{Inputs: []string{input}, Key: "salt(id, 10) + id", Timestamp: 1700000000000, Mapping: m}
	f := jobtest.Family
	f.Compression = 0
	k, err := OpenInput(t.Context(), env.Source, jobtest.Resolve(t, s), w)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), f, partition.SaltSplits(10), 0)
	if err != nil {
		t.Fatal(err)
	}
	return k.Build(ctx, p, out, w, 0, nil)
}

// TestWriteAgain makes each operation of a build fail, before or after it takes
// effect, on several files: the files are the same as those of an undisturbed
// build, and nothing else is left.
func TestWriteAgain(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 24_000)
	calm := t.TempDir()
	want, err := buildInto(t.Context(), t, env, input, Output{FS: hdfsio.Local{}, Dir: calm}, WorkOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	const spilling = 12 << 20 // the least for two workers
	sums := jobtest.Hashes(t, calm)
	if len(sums) != 10 {
		t.Fatalf("%d files", len(sums))
	}
	memories := []spec.Size{spilling, 0}
	if race.Reduced(t) {
		memories = memories[:1]
	}
	for _, op := range []testfs.Op{testfs.OpCreate, testfs.OpWrite, testfs.OpFinish, testfs.OpOpen, testfs.OpReadAt, testfs.OpStat, testfs.OpRename} {
		for _, after := range []bool{false, true} {
			if op == testfs.OpReadAt && after {
				continue // once all bytes are read, the error does not matter
			}
			for _, memory := range memories {
				t.Run(fmt.Sprintf("%s/after=%t/memory=%s", op, after, memory), func(t *testing.T) {
					dir := t.TempDir()
					var mu sync.Mutex
					seen, failed, notes := 0, 0, 0
					fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(o testfs.Op, name string, _ int64) *testfs.Fault {
						mu.Lock()
						defer mu.Unlock()
						if o != op || failed == 5 { // fewer than the attempts for a file, if one file gets all failures
							return nil
						}
						if seen++; seen%3 == 1 { // not only the first
							return nil
						}
						failed++
						return &testfs.Fault{Err: errors.New("broken by the test"), After: after}
					}}
					w := WorkOptions{Workers: 2, Memory: memory, Events: progress.Events{OnNote: func(msg string, _ ...any) {
						mu.Lock()
						defer mu.Unlock()
						if strings.Contains(msg, "again") {
							notes++
						}
					}}}
					got, err := buildInto(t.Context(), t, env, input, Output{FS: fsys, Dir: dir, Retry: quickRetry}, w)
					if err != nil {
						t.Fatal(err)
					}
					if got.Digest != want.Digest || got.HFiles != want.HFiles || got.Duplicates != want.Duplicates {
						t.Errorf("%+v, want %+v", got.Digest, want.Digest)
					}
					if after := jobtest.Hashes(t, dir); !maps.Equal(after, sums) {
						t.Errorf("other files than those of an undisturbed build: %q", slices.Sorted(maps.Keys(after)))
					}
					if spilled := got.Runs > 1; spilled != (memory > 0) {
						t.Errorf("%d runs", got.Runs)
					}
					// Two workers' files may fail together, and one note may report the retry of both.
					if failed != 5 || notes == 0 || notes > failed {
						t.Errorf("%d failures, %d notes", failed, notes)
					}
				})
			}
		}
	}
}

// TestWriteFamiliesAgain makes operations fail in regions with several files:
// some already have their names when another cannot get its own.
func TestWriteFamiliesAgain(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 2000)
	m := spec.Mapping{Cells: []spec.CellSpec{{Column: "a", Family: "e"}, {Column: "id"}, {Column: "b", Family: "g", Type: "long"}}}
	calm := t.TempDir()
	want, err := buildMapped(t.Context(), t, env, input, Output{FS: hdfsio.Local{}, Dir: calm}, WorkOptions{Workers: 2}, m)
	if err != nil {
		t.Fatal(err)
	}
	sums := jobtest.Hashes(t, calm)
	if len(sums) != 30 || want.HFiles != 30 {
		t.Fatalf("%d files", len(sums))
	}
	retry := quickRetry
	retry.Attempts = 12 // more than there are faults; one region may get all of them
	nths := []int{3, 5}
	if race.Reduced(t) {
		nths = nths[:1]
	}
	for _, op := range []testfs.Op{testfs.OpCreate, testfs.OpWrite, testfs.OpFinish, testfs.OpOpen, testfs.OpStat, testfs.OpRename, testfs.OpRemove} {
		for _, after := range []bool{false, true} {
			for _, nth := range nths {
				t.Run(fmt.Sprintf("%s/after=%t/%d", op, after, nth), func(t *testing.T) {
					dir := t.TempDir()
					var mu sync.Mutex
					seen, failed := 0, 0
					fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(o testfs.Op, name string, _ int64) *testfs.Fault {
						mu.Lock()
						defer mu.Unlock()
						second := op == testfs.OpRemove && o == testfs.OpRename // so that there is something to remove
						if o != op && !second || failed == 9 {
							return nil
						}
						if seen++; seen%nth != 0 {
							return nil
						}
						failed++
						return &testfs.Fault{Err: errors.New("broken by the test"), After: after}
					}}
					got, err := buildMapped(t.Context(), t, env, input, Output{FS: fsys, Dir: dir, Retry: retry}, WorkOptions{Workers: 2}, m)
					if err != nil {
						t.Fatal(err)
					}
					if got.Digest != want.Digest || got.HFiles != want.HFiles {
						t.Errorf("%+v, want %+v", got.Digest, want.Digest)
					}
					// Thirty files take at least thirty such operations; the exact number
					// depends on which of a region's files fail together. For removal, a
					// worker's last fault may find nothing to remove.
					if failed < min(30/nth, 8) {
						t.Errorf("%d operations failed", failed)
					}
					if after := jobtest.Hashes(t, dir); !maps.Equal(after, sums) {
						t.Errorf("other files than those of an undisturbed build: %q", slices.Sorted(maps.Keys(after)))
					}
				})
			}
		}
	}
}

// TestManifestThatFailedAtItsEndIsNotLeft makes finishing or renaming the manifest return an error although it took effect.
func TestManifestThatFailedAtItsEndIsNotLeft(t *testing.T) {
	for _, op := range []testfs.Op{testfs.OpFinish, testfs.OpRename} {
		t.Run(string(op), func(t *testing.T) { manifestFails(t, op) })
	}
}

// manifestFails makes the first operation of a kind on the manifest take effect and return an error.
func manifestFails(t *testing.T, op testfs.Op) {
	dir, failed := t.TempDir(), false
	fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(o testfs.Op, name string, _ int64) *testfs.Fault {
		if failed || o != op || !strings.Contains(name, manifest.FileName) {
			return nil
		}
		failed = true
		return &testfs.Fault{Err: errors.New("broken by the test"), After: true}
	}}
	if _, err := buildInto(t.Context(), t, jobtest.Env(t), jobtest.WideInput(t, 10), Output{FS: fsys, Dir: dir, Retry: quickRetry}, WorkOptions{}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if !failed || !slices.Equal(left, []string{manifest.FileName, "f"}) {
		t.Errorf("failed %t, the directory has %q", failed, left)
	}
}

// TestWriteGivenUp counts the attempts at a write that always fails.
func TestWriteGivenUp(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 1000)
	for _, c := range []struct {
		cause  error
		kind   fail.Kind
		writes int
		want   string
	}{
		{fs.ErrPermission, fail.Check, 1, "permission denied"},
		{kerberos.ErrExpired, fail.Check, 1, "the login has expired"},
		{syscall.ENOSPC, fail.HDFS, 2, "make room there, or name another directory"},
		{hdfsio.ErrQuota, fail.HDFS, 1, "quota"},
		{errors.New("no answer"), fail.HDFS, 6, "written 6 times"},
	} {
		t.Run(c.cause.Error(), func(t *testing.T) {
			dir := t.TempDir()
			var mu sync.Mutex
			var writes int
			var again atomic.Int32
			fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, name string, _ int64) *testfs.Fault {
				if op != testfs.OpWrite {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				writes++
				return &testfs.Fault{Err: &fs.PathError{Op: "write", Path: name, Err: c.cause}}
			}}
			noted := progress.Events{OnNote: func(msg string, _ ...any) {
				if strings.HasSuffix(msg, "is written again") {
					again.Add(1)
				}
			}}
			_, err := buildInto(t.Context(), t, env, input, Output{FS: fsys, Dir: dir, Retry: quickRetry}, WorkOptions{Workers: 1, Events: noted})
			if !errors.Is(err, c.cause) || !strings.Contains(err.Error(), c.want) || fail.KindOf(err) != c.kind {
				t.Errorf("kind %d: %v", fail.KindOf(err), err)
			}
			if n := strings.Count(err.Error(), c.want); n > 1 && c.cause == kerberos.ErrExpired {
				t.Errorf("said %d times: %v", n, err)
			}
			// The next file is being written when the first fails.
			if n := again.Load(); writes < c.writes || writes > c.writes+1 || c.writes == 1 && n > 0 {
				t.Errorf("%d writes, %d files are written again, want %d writes", writes, n, c.writes)
			}
			if left := jobtest.Hashes(t, dir); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestWriteStopped ends a build while a file cannot be written: during the
// pause before a retry, and before the write has failed.
func TestWriteStopped(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("early %t", early), func(t *testing.T) {
			env, input := jobtest.Env(t), jobtest.WideInput(t, 1000)
			cause := errors.New("stopped by the test")
			ctx, cancel := context.WithCancelCause(t.Context())
			fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
				if op != testfs.OpFinish {
					return nil
				}
				if early {
					cancel(cause)
				}
				return &testfs.Fault{Err: errors.New("no answer")}
			}}
			w := WorkOptions{Workers: 2, Events: progress.Events{OnNote: func(msg string, _ ...any) {
				if strings.Contains(msg, "again") {
					cancel(cause)
				}
			}}}
			dir := t.TempDir()
			_, err := buildInto(ctx, t, env, input, Output{FS: fsys, Dir: dir, Retry: WriteRetry{Pause: time.Hour}}, w)
			if !errors.Is(err, cause) {
				t.Errorf("stopped: %v", err)
			}
			if left := jobtest.Hashes(t, dir); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestStoppedBetweenNames ends a build when some of its files have their final names: between the files of two families of a region, and before
// the manifest has its own. Nothing is left.
func TestStoppedBetweenNames(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 100)
	m := spec.Mapping{Cells: []spec.CellSpec{{Column: "a", Family: "e"}, {Column: "id"}}}
	for name, last := range map[string]func(string, int) bool{
		"families": func(_ string, nth int) bool { return nth == 2 },
		"manifest": func(name string, _ int) bool { return strings.Contains(name, manifest.FileName) },
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("stopped by the test")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var mu sync.Mutex
			named := 0
			fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, name string, _ int64) *testfs.Fault {
				mu.Lock()
				defer mu.Unlock()
				if op != testfs.OpRename {
					return nil
				}
				if named++; !last(name, named) {
					return nil
				}
				cancel(cause)
				return &testfs.Fault{Err: cause}
			}}
			dir := t.TempDir()
			if _, err := buildMapped(ctx, t, env, input, Output{FS: fsys, Dir: dir, Retry: WriteRetry{Pause: time.Hour}}, WorkOptions{Workers: 1}, m); !errors.Is(err, cause) {
				t.Error(err)
			}
			if left := jobtest.Hashes(t, dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestCompleteBuildIsNoError checks that a build whose files and manifest are written succeeds, with a warning, if the directory of unfinished files
// cannot be removed, and that a build that is stopped at that moment still removes it.
func TestCompleteBuildIsNoError(t *testing.T) {
	env, input, refused := jobtest.Env(t), jobtest.WideInput(t, 100), errors.New("broken by the test")
	for _, fault := range []*testfs.Fault{{Err: refused}, nil} {
		ctx, cancel := context.WithCancel(t.Context())
		removals := 0
		fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
			if op != testfs.OpRemoveAll {
				return nil
			}
			removals++
			if cancel(); fault == nil {
				return nil
			}
			return fault
		}}
		var warned []string
		w := WorkOptions{Workers: 1, Events: progress.Events{OnWarn: func(msg string, kv ...any) { warned = append(warned, msg+fmt.Sprint(kv...)) }}}
		dir := t.TempDir()
		m, err := buildInto(ctx, t, env, input, Output{FS: fsys, Dir: dir, Retry: quickRetry}, w)
		cancel()
		if err != nil || m.HFiles != len(jobtest.Hashes(t, dir)) || removals != 1 {
			t.Fatalf("%v, %d removals", err, removals)
		}
		if _, err := manifest.Read(t.Context(), hdfsio.Local{}, dir); err != nil {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, WritingDir))
		if fails := fault != nil; err != nil || len(left) != len(warned) || fails != (len(warned) == 1) || fails && (!strings.Contains(warned[0], WritingDir) || !strings.Contains(warned[0], refused.Error())) {
			t.Errorf("left %q, %v, warnings %q", left, err, warned)
		}
	}
}
