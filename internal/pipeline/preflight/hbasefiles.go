package preflight

import (
	"context"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/setting"
)

// askFiles looks at the files by which the job is to be verified.
func (f *checkFacts) askFiles(ctx context.Context) error {
	s, err := verify.StoresOf(f.env)
	if err != nil {
		return err
	}
	facts := &cluster.Facts{Name: f.name, Table: f.table, Regions: f.regions}
	for _, name := range f.families() {
		facts.Families = append(facts.Families, spec.Family{Name: name})
	}
	return s.Readable(ctx, facts)
}

// askReadFiles looks for the right to read the files of the tables that the job takes snapshots of, and reads.
func (f *checkFacts) askReadFiles(ctx context.Context) error {
	_, tables, _ := f.reads()
	if len(tables) == 0 || tablesource.ReadBy(f.spec.ReadBy) == tablesource.ByAuto && !f.spec.Replace {
		return nil
	}
	for _, t := range tables {
		if err := tablesource.MayRead(ctx, f.env, t); err != nil {
			return err
		}
	}
	return nil
}

// checkFiles reports whether the files by which the job is to be verified cannot be read.
func checkFiles(err error, user, root string) Check {
	if err == nil {
		return Check{}
	}
	c := bad("files to verify", setting.Textf("%s; or give %s sample or full", strings.Join(openFiles(user, root), "; "), setting.Verify), "%s", oneLine{err})
	if k := fail.KindOf(err); k == fail.Load || k == fail.HDFS {
		return c.later(k)
	}
	return c
}

// checkReadFiles reports whether the user may not read the files of a table that the job reads from a snapshot.
func checkReadFiles(err error, user, root string) Check {
	if err == nil {
		return Check{}
	}
	return bad("files to read", setting.Textf("%s", strings.Join(openFiles(user, root, ".hbase-snapshot"), "; ")), "the job reads a snapshot, and %s", oneLine{err})
}
