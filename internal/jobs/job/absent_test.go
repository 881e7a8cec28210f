package job

import (
	"io/fs"
	"log/slog"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestAbsentDirectory checks that the refusal of a directory that does not exist says where it was looked for.
func TestAbsentDirectory(t *testing.T) {
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	_, err := LoadDir(t.Context(), env, "t", t.TempDir()+"/none", LoadOptions{})
	testcheck.Says(t, "a local directory", err, "no such file", "on this machine", "hdfs://")
	there := hdfsio.Location{Scheme: "hdfs", Authority: "nn:8020", Path: "/none"}
	testcheck.Says(t, "a directory of HDFS", cluster.Absent(there, &fs.PathError{Op: "stat", Path: "/none", Err: fs.ErrNotExist}), "/none", "on hdfs://nn:8020", "file://")
}
