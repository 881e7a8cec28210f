package lineage

import (
	"cmp"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

// Subject is what a command works on, as far as it is known before it begins.
type Subject struct {
	Command string    // run, build (and merge, which ends one) or load
	Spec    spec.Spec // of load: the table, and the directory as the only input
	Out     string    // of build
	Into    string    // the table that takes the place of the spec's, empty: none
	Env     *cluster.Env
}

// filled are the names of the tables that the command fills, as OpenLineage has them, in the order of the job's tables.
func (s Subject) filled() (names []string) {
	for _, t := range append([]string{cmp.Or(s.Into, s.Spec.Table)}, tableNames(s.Spec.Tables)...) {
		if name, err := loader.ParseTableName(t); err == nil {
			t = name.Namespace + ":" + name.Qualifier
		}
		names = append(names, t)
	}
	return names
}

func tableNames(tables []spec.TableSpec) (names []string) {
	for _, t := range tables {
		names = append(names, t.Table)
	}
	return names
}

// Table is the table's name as HBase writes it; of a build it may be empty.
func (s Subject) Table() string {
	if name, err := loader.ParseTableName(s.Spec.Table); err == nil {
		return name.String()
	}
	return s.Spec.Table
}
