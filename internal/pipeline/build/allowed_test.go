package build

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// heldFS records renamed files, and lets a test wait for the first complete file without its final name.
type heldFS struct {
	mu       sync.Mutex
	renamed  int
	finished chan struct{}
	once     sync.Once
}

func (h *heldFS) inject(op testfs.Op, _ string, _ int64) *testfs.Fault {
	switch op {
	case testfs.OpFinish:
		h.once.Do(func() { close(h.finished) })
	case testfs.OpRename:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.renamed++
	}
	return nil
}

func (h *heldFS) names() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renamed
}

// TestFilesWaitForTheirNames checks that HFiles are written before the permission is given, that none gets its final name
// earlier, and that the files are the same as those of a build that needs no permission.
func TestFilesWaitForTheirNames(t *testing.T) {
	env, input := jobtest.Env(t), jobtest.WideInput(t, 5000)
	calm := t.TempDir()
	if _, err := buildInto(t.Context(), t, env, input, Output{FS: hdfsio.Local{}, Dir: calm}, WorkOptions{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	h, dir := &heldFS{finished: make(chan struct{})}, t.TempDir()
	ask := sync.OnceValue(func() error {
		<-h.finished
		if n := h.names(); n > 0 {
			t.Errorf("%d files have their names", n)
		}
		return nil
	})
	if _, err := buildInto(t.Context(), t, env, input, Output{FS: &testfs.Faulty{FS: hdfsio.Local{}, Inject: h.inject}, Dir: dir}, WorkOptions{Workers: 2, Allowed: ask}); err != nil {
		t.Fatal(err)
	}
	if want := jobtest.Hashes(t, calm); len(want) != 10 || !maps.Equal(jobtest.Hashes(t, dir), want) {
		t.Errorf("other files than those of a build that asks no servers: %v", want)
	}
}

// TestRefusedBuildLeavesNothing checks that neither HFiles nor a file of bad records are left.
func TestRefusedBuildLeavesNothing(t *testing.T) {
	env, refusal := jobtest.Env(t), errors.New("refused by the test")
	build := func(t *testing.T, input string, h *heldFS, allowed func() error) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		dir, rejects := t.TempDir(), filepath.Join(t.TempDir(), "rejects.jsonl")
		w := WorkOptions{Workers: 2, RejectFile: rejects, Allowed: func() error {
			err := allowed()
			cancel(err)
			return err
		}}
		s := jobtest.Resolve(t, spec.Spec{Inputs: []string{input}, Key: "salt(id, 10) + id", Timestamp: 1700000000000, BadRecords: "5"})
		in, err := OpenInput(t.Context(), env.Source, s, w)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cells.NewPlan(s, in.Source.Columns(), jobtest.Family, partition.SaltSplits(10), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Build(ctx, p, Output{FS: &testfs.Faulty{FS: hdfsio.Local{}, Inject: h.inject}, Dir: dir}, w, 0, nil); !errors.Is(err, refusal) {
			t.Fatal(err)
		}
		if left := jobtest.Hashes(t, dir); len(left) > 0 || h.names() > 0 {
			t.Errorf("left: %v, %d names", left, h.names())
		}
		if _, err := os.Stat(rejects); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file of bad records: %v", err)
		}
	}
	t.Run("when a file is complete", func(t *testing.T) {
		h := &heldFS{finished: make(chan struct{})}
		build(t, jobtest.WideInput(t, 5000), h, func() error {
			<-h.finished
			return refusal
		})
	})
	t.Run("with bad records", func(t *testing.T) {
		input := jobtest.WideInput(t, 5000)
		f, err := os.OpenFile(input, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("one column\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		build(t, input, &heldFS{finished: make(chan struct{})}, func() error { return refusal })
	})
}
