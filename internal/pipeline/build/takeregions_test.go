package build

import (
	"errors"
	"maps"
	"path"
	"sync"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
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
