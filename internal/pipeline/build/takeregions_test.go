package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"sync"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/upload"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// TestManySmallRegions completes many files at a time, and some fail at their end: the files are the same as those of
// an undisturbed build, the number of open files is limited, and each is finished before it is renamed.
func TestManySmallRegions(t *testing.T) {
	const regions = 100
	env, input := jobtest.Env(t), jobtest.WideInput(t, 5000)
	build := func(fsys hdfsio.FS, dir string) (map[string]string, error) {
		t.Helper()
		s := jobtest.Resolve(t, spec.Spec{Inputs: []string{input}, Key: "salt(id, 100) + id", Timestamp: 1700000000000})
		w := WorkOptions{Workers: 2}
		in, err := OpenInput(t.Context(), env.Source, s, w)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cells.NewPlan(s, in.Source.Columns(), jobtest.Family, partition.SaltSplits(regions), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Build(t.Context(), p, Output{FS: fsys, Dir: dir, Retry: quickRetry}, w, 0, nil)
		return jobtest.Hashes(t, dir), err
	}
	want, err := build(hdfsio.Local{}, t.TempDir())
	if err != nil || len(want) != regions {
		t.Fatalf("%d files, %v", len(want), err)
	}
	var mu sync.Mutex
	open, most, failed := 0, 0, 0
	finished := map[string]bool{}
	fsys := &testfs.Faulty{FS: hdfsio.Local{}.Grouped(), Inject: func(op testfs.Op, name string, _ int64) *testfs.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch op {
		case testfs.OpCreate:
			open++
			most = max(most, open)
		case testfs.OpFinish:
			open--
			if len(finished)%17 == 3 && failed < 5 {
				failed++
				return &testfs.Fault{Err: errors.New("broken by the test")}
			}
			finished[path.Base(name)] = true
		case testfs.OpRename:
			if !finished[path.Base(name)] {
				t.Errorf("%s has its name before it is finished", name)
			}
		}
		return nil
	}}
	got, err := build(fsys, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d files, not those of an undisturbed build", len(got))
	}
	if failed == 0 || most < 3 || most > completing+2+failed {
		t.Errorf("%d failed, %d open at a time", failed, most)
	}
}

// TestFailedFilesWaitForNoSlotOfTheirOwn makes an operation on some files fail while no more regions may be written at a time than there are workers:
// a worker that has encoded the next region holds a slot, and gives it up before it writes a failed region again.
func TestFailedFilesWaitForNoSlotOfTheirOwn(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 2000)
	calm := t.TempDir()
	if _, err := buildInto(t.Context(), t, env, input, Output{FS: hdfsio.Local{}, Dir: calm}, WorkOptions{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	want := jobtest.Hashes(t, calm)
	for _, op := range []testfs.Op{testfs.OpFinish, testfs.OpOpen, testfs.OpRename} {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", op, n), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var mu sync.Mutex
				seen := 0
				fsys := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(o testfs.Op, _ string, _ int64) *testfs.Fault {
					mu.Lock()
					defer mu.Unlock()
					if o != op {
						return nil
					}
					if seen++; seen > 4 {
						return nil
					}
					return &testfs.Fault{Err: errors.New("broken by the test")}
				}}
				dir := t.TempDir()
				out := Output{FS: fsys, Dir: dir, Retry: quickRetry, Uploads: upload.NewLimiter(upload.Options{Streams: n})}
				if _, err := buildInto(ctx, t, env, input, out, WorkOptions{Workers: n}); err != nil {
					t.Fatal(err)
				}
				if got := jobtest.Hashes(t, dir); !maps.Equal(got, want) {
					t.Errorf("%d files, not those of an undisturbed build", len(got))
				}
			})
		}
	}
}
