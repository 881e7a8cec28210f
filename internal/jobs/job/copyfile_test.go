package job

import (
	"context"
	"errors"
	"hash/crc32"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
)

// TestCopyIsWrittenAgain checks that the copy of a local file is written again, under another name, after HDFS could not create, write or finish it,
// or not read it back; not after an error of the local file, nor by a process that has lost its job. The bytes of failed copies do not count.
func TestCopyIsWrittenAgain(t *testing.T) {
	base, content := t.TempDir(), []byte("the bytes of a file")
	testcheck.Must(t, os.MkdirAll(filepath.Join(base, "f"), 0o755))
	testcheck.Must(t, os.WriteFile(filepath.Join(base, "f", "a"), content, 0o600))
	broken := errors.New("the DataNode is gone")
	for _, tt := range []struct {
		op    testfs.Op
		local bool // the fault is the local file's
		lost  bool
		again bool
	}{
		{op: testfs.OpCreate, again: true}, {op: testfs.OpWrite, again: true}, {op: testfs.OpFinish, again: true}, {op: testfs.OpRead, again: true},
		{op: testfs.OpWrite, lost: true}, {op: testfs.OpOpen, local: true}, {op: testfs.OpRead, local: true},
	} {
		t.Run(string(tt.op), func(t *testing.T) {
			memory, faults := hdfsio.NewMemory(), 0
			var created []string
			inject := func(local bool) func(op testfs.Op, name string, offset int64) *testfs.Fault {
				return func(op testfs.Op, name string, _ int64) *testfs.Fault {
					if op == testfs.OpCreate {
						created = append(created, path.Base(name))
					}
					if op != tt.op || local != tt.local || faults > 0 {
						return nil
					}
					faults++
					return &testfs.Fault{Err: broken}
				}
			}
			out := build.Output{FS: &testfs.Faulty{FS: memory, Inject: inject(false)}, Dir: "/s", Retry: build.WriteRetry{Pause: time.Millisecond}}
			from := build.Output{FS: &testfs.Faulty{FS: hdfsio.Local{}, Inject: inject(true)}, Dir: base}
			testcheck.Must(t, out.Prepare(t.Context(), "f"))
			f := manifest.File{Name: "f/a", Family: "f", Bytes: int64(len(content)), CRC32C: crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))}
			written := int64(0)
			o := LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Events: progress.Events{OnWritten: func(n int64) { written += n }}}}}
			owned := func(context.Context) error {
				if tt.lost {
					return errTakenOver
				}
				return nil
			}
			err := copyFile(t.Context(), owned, out, from, &f, nil, o)
			if left, _ := memory.ReadDir(t.Context(), path.Join("/s", out.WritingOf("f"))); len(left) > 0 {
				t.Errorf("a failed copy is left: %v", left)
			}
			if !tt.again {
				if want := map[bool]error{true: errTakenOver, false: broken}[tt.lost]; !errors.Is(err, want) || len(created) > 1 || written != 0 {
					t.Errorf("error %v, created %q, %d bytes count", err, created, written)
				}
				return
			}
			got, readErr := hdfsio.ReadFile(t.Context(), memory, "/s/f/a", 1<<10)
			if err != nil || readErr != nil || string(got) != string(content) || written != int64(len(content)) || !slices.Equal(created, []string{"a", "a.1"}) {
				t.Errorf("error %v, %v, content %q, created %q, %d bytes count", err, readErr, got, created, written)
			}
		})
	}
}
