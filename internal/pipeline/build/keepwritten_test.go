package build

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/hdfsio"
)

// deafFS fails to stat any file.
type deafFS struct{ hdfsio.Local }

func (deafFS) Stat(context.Context, string) (fs.FileInfo, error) { return nil, syscall.EIO }

// TestFailedLookForgetsNothing checks that the files of an earlier attempt are kept if they cannot be examined, and
// forgotten if they are known to be missing.
func TestFailedLookForgetsNothing(t *testing.T) {
	done := NewDone()
	done.Written[3] = WrittenRecord{File: manifest.File{Name: "f/0123", Bytes: 10}}
	r := &Resume{Done: &done, Checkpoint: noCheckpoint{&done}}
	if err := r.KeepWritten(t.Context(), []Table{{Out: Output{FS: deafFS{}, Dir: t.TempDir()}}}); fail.KindOf(err) != fail.HDFS || !errors.Is(err, syscall.EIO) || !r.has(3) {
		t.Errorf("%v, region 3 is written: %t", err, r.has(3))
	}
	if err := r.KeepWritten(t.Context(), []Table{{Out: Output{FS: hdfsio.Local{}, Dir: t.TempDir()}}}); err != nil || r.has(3) {
		t.Errorf("%v, region 3 is written: %t", err, r.has(3))
	}
}
