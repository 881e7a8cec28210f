package lineage

import (
	"cmp"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

// Subject describes the work of a command, as far as it is known before the command begins.
type Subject struct {
	Command string    // run, build (and merge, which ends one) or load
	Spec    spec.Spec // of load: the table, and the directory as the only input
	Out     string    // of build
	Into    string    // the table that replaces the spec's table; empty: none
	Env     *cluster.Env
}

// filled returns the OpenLineage names of the tables that the command fills, in the order of the job's tables.
func (s Subject) filled() []string {
	names := []string{cmp.Or(s.Into, s.Spec.Table)}
	for _, t := range s.Spec.Tables {
		names = append(names, t.Table)
	}
	for i, t := range names {
		if name, err := loader.ParseTableName(t); err == nil {
			names[i] = name.Namespace + ":" + name.Qualifier
		}
	}
	return names
}

// Table returns the table's name in HBase's form. It may be empty for a build.
func (s Subject) Table() string {
	if name, err := loader.ParseTableName(s.Spec.Table); err == nil {
		return name.String()
	}
	return s.Spec.Table
}
