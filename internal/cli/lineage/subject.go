package lineage

import (
	"cmp"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

// Subject has the inputs and outputs of a command, as far as they are known before it begins.
type Subject struct {
	Command string    // run, build (and merge, which ends one) or load
	Spec    spec.Spec // of load: the table, and the directory as the only input
	Out     string    // of build
	Into    string    // the table that takes the place of the spec's, empty: none
	Env     *cluster.Env
}

// filled returns the names of the tables that the command fills, as OpenLineage has them, in the order of the job's tables.
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

// Table returns the table's name as HBase writes it; of a build it may be empty.
func (s Subject) Table() string {
	if name, err := loader.ParseTableName(s.Spec.Table); err == nil {
		return name.String()
	}
	return s.Spec.Table
}
