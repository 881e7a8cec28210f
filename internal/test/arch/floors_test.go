package arch

import (
	"strings"
	"testing"
)

// floors are the groups of packages from top to bottom, by path prefixes; the longest matching one is a package's floor. A package imports
// packages of its own floor and of those below it.
var floors = []string{
	"cmd",
	"internal/test",     // test clusters, judges and whole-program tests
	"internal/cli",      // shared by commands: settings, the console, reports, metrics
	"internal/serve",    // the reader service
	"internal/jobs",     // the work of a command: run, load, rekey, undo, export, plan, inspect
	"internal/engine",   // a job's history, its steps and its state
	"internal/pipeline", // rows to HFiles to the table
	"internal/hbase",    // a cluster, its tables, snapshots and staging directories in the form that jobs need
	"internal/model",    // specifications, manifests, results
	"pkg/source",
	"pkg/source/listing", // files of inputs
	"pkg/loader",
	"pkg/hdfsio",
	"pkg/hfile",
	"pkg/partition",
	"internal/formats", // compressions, text, JSON lines, Avro, Parquet, ORC, reject files, character sets, values
	"pkg/source/dialect",
	"pkg/source/span",
	"pkg/keygen",
	"internal/objectstore", // protocols of object stores
	"internal/hadoop",      // protocols of Hadoop and HBase
	"pkg/kerberos",
	"internal/base", // leaves that all floors share
	"pkg/setting",
}

// doors is the greatest number of packages at the top of pkg, which other modules import.
const doors = 8

// floorOf returns the index of a package's floor, -1 if it has none.
func floorOf(pkg string) int {
	found, length := -1, 0
	for i, f := range floors {
		if (pkg == f || strings.HasPrefix(pkg, f+"/")) && len(f) > length {
			found, length = i, len(f)
		}
	}
	return found
}

// TestFloors checks that every package is on a floor, and imports nothing from a floor above. Other modules have few
// packages to import.
func TestFloors(t *testing.T) {
	top := map[string]bool{}
	for pkg, ours := range imports(t) {
		at := floorOf(pkg)
		if at < 0 {
			t.Errorf("%s is on no floor: put it into one of floors_test.go", pkg)
		}
		for _, imported := range ours {
			if below := floorOf(imported); below < at {
				t.Errorf("%s (%s) imports %s of a floor above (%s)", pkg, floors[at], imported, floors[max(below, 0)])
			}
		}
		if rest, ok := strings.CutPrefix(pkg, "pkg/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			top[name] = true
		}
	}
	if len(top) > doors {
		t.Errorf("pkg has %d doors, more than %d", len(top), doors)
	}
}
