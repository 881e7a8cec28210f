package tablesource

import (
	"slices"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"
)

// ReadBy is the way to read a table: from its files, or by its region servers.
type ReadBy string

// Values of ReadBy. The zero value means ByFiles.
const (
	// ByFiles reads the HFiles of a snapshot from HDFS.
	ByFiles ReadBy = "files"
	// ByScan lets region servers scan the table.
	ByScan ReadBy = "scan"
	// ByAuto is ByFiles, or ByScan if HDFS denies the user access to the files.
	ByAuto ReadBy = "auto"
)

// Ways returns all values.
func Ways() []string { return []string{string(ByFiles), string(ByScan), string(ByAuto)} }

// CheckReadBy returns an error for a way that the inputs do not support. Inputs that are files need none.
func CheckReadBy(inputs []string, by ReadBy) error {
	switch {
	case by != "" && !slices.Contains(Ways(), string(by)):
		return fail.With(fail.Config, setting.Errorf("%s %q is invalid: want one of %s", setting.ReadBy, string(by), strings.Join(Ways(), ", ")))
	case by == "" || by == ByFiles:
		return nil
	case !slices.ContainsFunc(inputs, cluster.IsTable):
		return fail.With(fail.Config, setting.Errorf("%s is for an input that is a table, hbase:TABLE, and there is none", setting.ReadBy))
	case by == ByScan && slices.ContainsFunc(inputs, func(name string) bool { return strings.HasPrefix(name, cluster.SnapshotScheme) }):
		return fail.With(fail.Config, errSnapshotScan)
	}
	return nil
}

var errSnapshotScan = setting.Errorf("%s scan: region servers have no rows of a snapshot: name its table, hbase:TABLE, or have HBase's shell make a table of it (clone_snapshot) and name that", setting.ReadBy)
